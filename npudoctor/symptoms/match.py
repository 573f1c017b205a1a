"""Match symptoms in a stream of any size, fast: most lines are never looked at one by one.

Logs repeat themselves up to their numbers. Each block is copied with every digit turned into
0 and every address into 0x0, and only lines that are then new (up to the ids in them) are
tested: first for the literals that each pattern needs, then with the patterns themselves. A
known line costs one lookup. Patterns that name digits (`507008`) are run on each line that has
their literals, so nothing is mistaken for its twin. Memory is bounded by the block size and by
caps on the caches.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from npudoctor.symptoms.blocks import BLOCK, read_blocks
from npudoctor.symptoms.probes import ECODE_KEY, Probe, compile_probes
from npudoctor.symptoms.rows import Symptom, all_symptoms
from npudoctor.symptoms.sieve import Sieve

LONG_LINE = 8 << 10  # longer lines are searched around their literals only
WINDOW = 2 << 10  # bytes kept on either side of a literal in a long line
KEEP = 5  # matching lines stored per pattern
ENOUGH = 10_000  # matches after which lines are no longer counted: "at least"
CACHE = 200_000  # distinct lines remembered

# Colours, cursor moves and titles that a terminal program left in its log, and NUL bytes: they
# would stand in the middle of a message. Newlines stay, so line numbers stay right.
_NOISE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00\x08]")

_ZEROS = bytes.maketrans(b"123456789", b"000000000")

# Once digits are 0: addresses, of which a plog has a new one on every line, and ids (hashes,
# UUIDs). Whole words only; words that people write are shorter or hold no digit.
_ADDRESS = re.compile(rb"0x[0a-fA-F]+\b")
_ID = re.compile(rb"\b(?:[0a-f]{8}(?:-[0a-f]{4}){3}-[0a-f]{12}|(?=0*[a-f])(?=[a-f]*0)[0a-f]{8,})\b")


@dataclass
class Hit:
    """Where one pattern of a symptom matched.

    Attributes:
        count: matching lines; a lower bound once it reaches `ENOUGH`.
        lines: the first `KEEP` matches as (line number from 1, text).
        groups: named groups of the first match.
    """

    count: int = 0
    lines: list[tuple[int, str]] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)


class Scanner:
    """Collects matches of `symptoms`; feed it with `scan`.

    Attributes:
        hits: for each pattern of each symptom that matched, where it did.
        lines: lines read so far.
    """

    def __init__(self, symptoms: Iterable[Symptom]) -> None:
        self.symptoms = tuple(symptoms)
        self.probes = compile_probes(self.symptoms)
        self.hits: dict[Probe, Hit] = {}
        self.lines = 0
        self._sieve = Sieve(self.probes)
        self._by_code = [i for i, probe in enumerate(self.probes) if probe.ecode]
        needs: dict[bytes, list[int]] = {}
        for place, probe in enumerate(self.probes):
            for need in probe.need:
                needs.setdefault(need, []).append(place)
        self._by_need = needs
        self._clean: set[bytes] = set()
        self._dirty: dict[bytes, tuple[Probe, ...]] = {}

    def scan(self, stream: BinaryIO, advance: Callable[[int], None] = lambda n: None) -> None:
        """Read `stream` (plain, gzip or UTF-16) to its end; `advance(n)` after n bytes."""
        rest = b""
        for block in read_blocks(stream):
            advance(len(block))
            block = rest + block
            cut = block.rfind(b"\n")
            if cut >= 0:
                self._block(block[:cut])
                rest = block[cut + 1:]
            elif len(block) >= BLOCK:
                # A line without end: searched piece by piece under one line number.
                self._windows(_readable(block), self.lines + 1)
                rest = block[-WINDOW:]
            else:
                rest = block
        if rest:
            self._block(rest)

    def _block(self, block: bytes) -> None:
        """One block of whole lines, without its last newline."""
        block = _readable(block)
        keys = _ADDRESS.sub(b"0x0", block.translate(_ZEROS)).split(b"\n")
        unique = set(keys)
        unique -= self._clean
        fresh = [key for key in unique if key not in self._dirty]
        if fresh:
            self._sort(fresh)
        if any(key in self._dirty for key in unique):
            self._lines_of(keys, block.split(b"\n"))
        self.lines += len(keys)
        if len(self._clean) > CACHE:
            self._clean.clear()
        if len(self._dirty) > CACHE:
            self._dirty.clear()

    def _lines_of(self, keys: list[bytes], lines: list[bytes]) -> None:
        dirty, first = self._dirty, self.lines + 1
        for index, key in enumerate(keys):
            probes = dirty.get(key)
            if probes is not None:
                line = lines[index]
                if len(line) > LONG_LINE:
                    self._windows(line, first + index)
                else:
                    self._record(probes, line, first + index)

    def _sort(self, fresh: list[bytes]) -> None:
        """Remember each new key as clean, or with the patterns that may match its lines."""
        folded = _ID.sub(b"0", b"\n".join(fresh)).split(b"\n")
        new = [key for key in set(folded) - self._clean if key not in self._dirty]
        self._clean.update(new)
        for key, needs in self._sieve.lines(b"\n".join(new)).items():
            probes = self._possible(key, needs)
            if probes:
                self._clean.discard(key)
                self._dirty[key] = probes
        for key, fold in zip(fresh, folded):
            if fold in self._dirty:
                self._dirty[key] = self._dirty[fold]

    def _possible(self, key: bytes, needs: set[bytes]) -> tuple[Probe, ...]:
        """Patterns that match lines with this key, or can only be decided on each line."""
        able = self._able(key, needs)
        if len(key) > LONG_LINE or not able:
            return tuple(able)
        text = key.decode("utf-8", "replace")
        return tuple(p for p in able if p.exact or p.regex.search(text))

    def _record(self, probes: Iterable[Probe], line: bytes, number: int) -> None:
        text, explained = "", False
        for probe in probes:
            if probe.fallback and explained:
                continue
            hit = self.hits.get(probe)
            if hit is not None and hit.count >= ENOUGH:
                explained = True
                continue
            if hit is not None and not probe.exact and len(hit.lines) >= KEEP:
                hit.count += 1
                explained = True
                continue
            text = text or line.decode("utf-8", "replace").rstrip("\r")
            found = probe.regex.search(text)
            if found is not None:
                _keep(self.hits.setdefault(probe, Hit()), number, text, found)
                explained = explained or probe.role == "match"

    def _windows(self, line: bytes, number: int) -> None:
        """Search a long line around each literal only, so that no pattern runs over megabytes."""
        for piece in _pieces(line, self._sieve.pattern):
            key = piece.translate(_ZEROS)
            self._record(self._able(key, self._sieve.needs_in(key)), piece, number)

    def _able(self, key: bytes, needs: set[bytes]) -> list[Probe]:
        """Patterns with one of these literals (or a vendor code) in a key, in their order."""
        able = {place for need in needs for place in self._by_need[need]}
        if ECODE_KEY.search(key):
            able.update(self._by_code)
        return [self.probes[place] for place in sorted(able)]


def scanned(text: str) -> Scanner:
    """The scan of a text that is at hand for every symptom of the tables."""
    scanner = Scanner(all_symptoms())
    scanner.scan(io.BytesIO(text.encode("utf-8", "replace")))
    return scanner


def _readable(block: bytes) -> bytes:
    noisy = b"\x1b" in block or b"\0" in block or b"\b" in block
    return _NOISE.sub(b"", block) if noisy else block


def _pieces(line: bytes, needle: re.Pattern[bytes]) -> Iterator[bytes]:
    seen = 0
    for found in needle.finditer(line.translate(_ZEROS)):
        if found.start() >= seen:
            seen = found.start() + WINDOW
            yield line[max(0, found.start() - WINDOW): seen]


def _keep(hit: Hit, number: int, text: str, found: re.Match[str]) -> None:
    if hit.lines and hit.lines[-1][0] == number:
        return  # the same line again, through another window
    hit.count += 1
    if len(hit.lines) < KEEP:
        # A progress bar rewrites its line with carriage returns: only the last writing counts.
        start = max(found.start() - 200, text.rfind("\r", 0, found.start()) + 1)
        end = text.find("\r", found.end(), found.end() + 400)
        hit.lines.append((number, text[start: end if end >= 0 else found.end() + 400].strip()))
    if not hit.groups:
        hit.groups.update({k: v for k, v in found.groupdict().items() if v is not None})
