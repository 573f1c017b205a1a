"""Every parser of foreign input survives mangled and random input: no crash, nothing slow, stable results.

NPUDOCTOR_FUZZ sets the number of cases per parser (default 40; `.ci/nightly` uses 10,000, and there are
more than ten).
"""

from __future__ import annotations

import ast
import functools
import gzip
import io
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npudoctor.core.errors import UserError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CASES = int(os.environ.get("NPUDOCTOR_FUZZ", "40"))
SIZE = 6000
SLOW_S = 10.0  # CPU seconds that no case of a few kilobytes may take


def samples(pattern: str) -> list[bytes]:
    found = sorted(p for p in FIXTURES.glob(pattern) if p.is_file())
    assert found, pattern
    return [p.read_bytes()[:SIZE] for p in found[:60]]


def mangle(rng: random.Random, data: bytearray) -> bytes:
    """Pieces cut, doubled, overwritten or put in; sometimes the end cut off."""
    for _ in range(rng.randint(0, 6)):
        if not data:
            break
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + rng.choice((1, 3, 40, 400)))
        change = rng.randrange(5)
        if change == 0:
            del data[a:b]
        elif change == 1:
            data[a:a] = data[a:b] * rng.randint(1, 5)
        elif change == 2:
            data[a:b] = rng.randbytes(b - a)
        elif change == 3:
            pieces = (b"\x00", b"\r", b"\xff\xfe", b"'" * 9, b"(" * 200, b"\x1b[31m", b"9" * 400)
            data[a:a] = rng.choice(pieces)
        else:
            data = data[: rng.randrange(len(data) + 1)]
    return bytes(data)


def mangled(originals: list[bytes]) -> Any:
    """Real input, mangled; sometimes bytes from nowhere."""

    def build(seed: int) -> bytes:
        rng = random.Random(seed)
        return mangle(rng, bytearray(rng.choice(originals)))

    return st.one_of(st.integers(0, 2**32).map(build), st.binary(max_size=400))


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def npu_smi(data: bytes) -> None:
    from npudoctor.machine.parsers import npu_smi as parser

    parser.parse_info(text(data))
    parser.parse_mapping(text(data))
    parser.parse_pairs(text(data))
    parser.parse_failure(text(data), 1)


def version_files(data: bytes) -> None:
    from npudoctor.machine.parsers import version_info as parser

    for parse in (
        parser.driver_info,
        parser.firmware_info,
        parser.cann_install_info,
        parser.component_info,
        parser.version_cfg,
        parser.atb_version,
        parser.ranges,
        parser.c_level,
    ):
        parse(text(data))


def logs(data: bytes) -> None:
    from npudoctor.symptoms.match import Scanner
    from npudoctor.symptoms.rank import ranked
    from npudoctor.symptoms.rows import all_symptoms

    for stored in (data, gzip.compress(data, 1)[: len(data)]):  # often cut off
        scanner = Scanner(all_symptoms())
        scanner.scan(io.BytesIO(stored))
        ranked(scanner)


def bundles(data: bytes) -> None:
    """A bundle that reads is diagnosed, whatever was cut out of it."""
    from npudoctor.check import run
    from npudoctor.pairing.table import load

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        try:
            machine = run.replayed(Path(file.name))
        except UserError:
            return
    run.report(machine, load())


def python(data: bytes) -> None:
    from npudoctor.migrate.engine import migrate_source

    source = text(data).replace("\r", "\n").lstrip("\ufeff")
    result = migrate_source(source, "m.py")
    if result.text != source:
        ast.parse(result.text)
        assert migrate_source(result.text, "m.py").text == result.text


def other_language(kind: str) -> Callable[[bytes], None]:
    def parse(data: bytes) -> None:
        from npudoctor.migrate.lang import languages
        from npudoctor.migrate.project import ProjectIndex
        from npudoctor.migrate.settings import Settings
        from npudoctor.migrate.source import SourceError

        language = languages()[kind]
        try:
            source = language.decode(data)
        except SourceError:
            return
        result = language.migrate(source.text, f"x.{kind}", Settings(), ProjectIndex())
        again = language.migrate(result.text, f"x.{kind}", Settings(), ProjectIndex())
        assert again.text == result.text

    return parse


def traces(data: bytes) -> None:
    from npudoctor.profile.analyse import analyse
    from npudoctor.profile.readers import read
    from npudoctor.profile.verdict import judge

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        try:
            trace = read(Path(file.name))
        except UserError:
            return
    judge(analyse(trace))


@functools.cache
def profile_files() -> list[Path]:
    """Every file of the recorded profiler folders."""
    return sorted(p for p in (FIXTURES / "profiles").rglob("*") if p.is_file() and p.suffix != ".md")


def trace_folders(data: bytes) -> None:
    """A profiler's folder with one file mangled; the first two bytes say which one, the others how."""
    from npudoctor.profile.analyse import analyse
    from npudoctor.profile.folder import statistics
    from npudoctor.profile.readers import read
    from npudoctor.profile.verdict import judge

    original = profile_files()[sum(data[:2]) % len(profile_files())]
    name = original.relative_to(FIXTURES / "profiles").parts[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        shutil.copytree(FIXTURES / "profiles" / name, folder)
        broken = mangle(random.Random(data), bytearray(original.read_bytes()))
        (folder / original.relative_to(FIXTURES / "profiles" / name)).write_bytes(broken)
        try:
            trace = read(folder)
        except UserError:
            return
        judge(analyse(trace), statistics(folder))


def site_tables(data: bytes) -> None:
    from npudoctor.pairing.table import Tables

    with tempfile.NamedTemporaryFile(suffix=".tsv") as file:
        file.write(data)
        file.flush()
        try:
            made = Tables(Path(file.name))
        except UserError:
            return
    made.row_for_torch_npu("2.7.1")


def settings_files(data: bytes) -> None:
    from npudoctor import config

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_bytes(data)
        try:
            config.load(Path(folder)).enabled("NPU101", "a.py")
        except UserError:
            return


def latencies(data: bytes) -> None:
    from npudoctor.simulate import costs

    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(data)
        file.flush()
        try:
            costs.load(Path(file.name))
        except UserError:
            return


def trace_samples() -> list[bytes]:
    from tests.profile import traces as made

    return [
        json.dumps(made.ascend_trace(f(6)), indent=1).encode()[:SIZE]
        for f in (made.launch_bound, made.sync_bound, made.env_bound)
    ]


def database_samples() -> list[bytes]:
    import tempfile

    from tests.profile.test_database import as_database

    with tempfile.TemporaryDirectory() as folder:
        return [as_database(Path(folder) / "a.db", page_size=512).read_bytes()]


def notebooks() -> list[bytes]:
    return [p.read_bytes() for p in sorted(FIXTURES.rglob("*.ipynb"))[:10]]


def recorded_files() -> list[bytes]:
    """Version files and install records as they lie on the recorded machines."""
    found = set()
    for path in sorted(FIXTURES.glob("machines/*.json")):
        seen = json.loads(path.read_text(encoding="utf-8"))["observations"]["read"]
        texts = [
            "\n".join(e["data"]) if isinstance(e["data"], list) else e["data"]
            for e in seen.values()
            if "data" in e
        ]
        found |= {text.encode() for text in texts if "=" in text}
    assert len(found) > 20
    return sorted(found)


def idiom_examples(kind: str) -> list[bytes]:
    """The examples of that kind of file, from the pages of the idioms and the torture files."""
    from npudoctor.migrate import filetypes, pages

    found = [p.read_bytes() for p in FIXTURES.glob("torture/*") if filetypes.classify(p.name, bytes) == kind]
    for path in sorted(FIXTURES.glob("idioms/*.md")):
        for example in pages.parse(path.read_text(encoding="utf-8")).examples:
            if filetypes.classify(example.path, bytes) == kind:
                found.append(example.source.encode())
    assert len(found) > 2, kind
    return found


def rule_pages() -> list[bytes]:
    blocks = []
    for page in samples("rules/*.md"):
        parts = page.split(b"```")
        blocks += [p.split(b"\n", 1)[1] for p in parts[1::2] if b"\n" in p]
    return blocks


SETTINGS = b"""[tool.npudoctor]
lang = "zh"
style = "portable"
torch-npu = "2.7.1.post2"
exclude = ["tests/"]
select = ["NPU1"]
[tool.npudoctor.per-file-ignores]
"scripts/*" = ["NPU172"]
"""
SITE = b"# date: 2026-10-01\ntorch_npu\ttorch\tcann\tpython\n2.7.1.post99\t2.7.1\t8.3.RC1,9.1.X\t3.11\n"
OTHER_FILES = ("dockerfile", "ini", "json", "requirements", "shell", "toml", "yaml")
PARSERS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "npu-smi": (npu_smi, lambda: samples("npu_smi/*.txt")),
    "version files": (version_files, recorded_files),
    "logs": (logs, lambda: samples("logs/*")),
    "bundles": (bundles, lambda: [p.read_bytes() for p in sorted(FIXTURES.glob("machines/*.json"))[:20]]),
    "python": (python, rule_pages),
    "notebook": (other_language("notebook"), notebooks),
    **{kind: (other_language(kind), functools.partial(idiom_examples, kind)) for kind in OTHER_FILES},
    "traces": (traces, trace_samples),
    "databases": (traces, database_samples),
    "trace folders": (trace_folders, lambda: [bytes([n, 0, n]) for n in range(len(profile_files()))]),
    "site tables": (site_tables, lambda: [SITE]),
    "settings": (settings_files, lambda: [SETTINGS]),
    "latencies": (latencies, lambda: [b'{"launch": 9.5, "sync": 21, "copy": 25}']),
}


@pytest.mark.parametrize("name", list(PARSERS))
def test_parser_survives(name: str) -> None:
    parse, originals = PARSERS[name]

    @settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(mangled(originals()))
    def check(data: bytes) -> None:
        begun = time.process_time()
        parse(data)
        assert time.process_time() - begun < SLOW_S

    check()
