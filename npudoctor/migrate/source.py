"""Bytes <-> text of a source file, so that what is not edited comes back byte for byte.

The engine sees text without a byte order mark whose lines end in "\\n" only. Encoding,
mark and the line end of each line are kept aside in `Source` and put back by `encode`.
"""

from __future__ import annotations

import codecs
import difflib
import io
import re
import tokenize
from dataclasses import dataclass

# Decoding that is lossy, quadratic, or hides ASCII: no real source file needs it.
_REFUSED = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "utf_7", "undefined", "mbcs", "oem"}
)
_LINE_END = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """The bytes are not text of a kind that can be edited and given back unharmed.

    Attributes:
        reason: stable word: `binary`, `encoding`, `cookie` or `roundtrip`.
        detail: what exactly, for the message.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Source:
    """A decoded file.

    Attributes:
        text: content without byte order mark, every line end as "\\n".
        encoding: codec that the bytes are in.
        bom: whether a UTF-8 byte order mark comes first.
        ends: the line end of each line, in order; one shared string when all are alike.
    """

    text: str
    encoding: str
    bom: bool
    ends: tuple[str, ...] | str

    def encode(self, new: str) -> bytes:
        """Bytes of `new` (an edited `text`) in the form of the original file.

        Raises:
            SourceError: `new` holds a character that the encoding lacks.
        """
        ended = new if self.ends == "\n" else _restore_ends(self.text, new, self.ends)
        try:
            data = ended.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise SourceError("encoding", str(error)) from None
        return codecs.BOM_UTF8 + data if self.bom else data


def decode_python(data: bytes) -> Source:
    """Decode Python source as the interpreter would (PEP 263: mark, cookie, else UTF-8).

    Raises:
        SourceError: binary, an encoding that Python itself would refuse, or no exact round trip.
    """
    _refuse_binary(data)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise SourceError("cookie", str(error.msg)) from None
    return _decode(data, encoding)


def decode_text(data: bytes) -> Source:
    """Decode a file of unstated encoding: UTF-8, else GBK, else Latin-1 (which takes any bytes).

    Raises:
        SourceError: binary or UTF-16.
    """
    _refuse_binary(data)
    for encoding in ("utf-8", "gb18030"):
        try:
            return _decode(data, encoding)
        except SourceError:
            continue
    return _decode(data, "latin-1")


def _refuse_binary(data: bytes) -> None:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SourceError("encoding", "UTF-16")
    if b"\0" in data:
        raise SourceError("binary", "NUL bytes")


def _decode(data: bytes, encoding: str) -> Source:
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8):] if bom else data
    if encoding.lower() == "utf-8-sig":
        encoding = "utf-8"
    if encoding.lower().replace("-", "_") in {name.replace("-", "_") for name in _REFUSED}:
        raise SourceError("cookie", encoding)
    try:
        raw = body.decode(encoding)
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise SourceError("encoding", str(error)) from None
    ends = _line_ends(raw)
    text = raw if ends == "\n" else _LINE_END.sub("\n", raw)
    source = Source(text, encoding, bom, ends)
    if source.encode(text) != data:
        raise SourceError("roundtrip", encoding)
    return source


def _line_ends(raw: str) -> tuple[str, ...] | str:
    if "\r" not in raw:
        return "\n"
    ends = tuple(_LINE_END.findall(raw))
    return ends[0] if len(set(ends)) == 1 else ends


def _restore_ends(old: str, new: str, ends: tuple[str, ...] | str) -> str:
    """Give each line of `new` the end that its counterpart in `old` had."""
    if isinstance(ends, str):
        return new.replace("\n", ends)
    if old == new:
        return _join(new.split("\n"), list(ends))
    before, after = old.split("\n"), new.split("\n")
    usual = max(sorted(set(ends)), key=ends.count)
    placed: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag in ("equal", "replace"):
            kept = list(ends[i:j])
            placed.extend((kept + [usual] * (m - k))[: m - k])
        elif tag == "insert":
            placed.extend([usual] * (m - k))
    return _join(after, [*placed, usual])


def _join(lines: list[str], ends: list[str]) -> str:
    parts = [piece for line, end in zip(lines, ends) for piece in (line, end)]
    return "".join(parts[: 2 * (len(lines) - 1)]) + lines[-1]
