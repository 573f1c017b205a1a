"""Every parser of foreign input survives mangled and random input: no crash, no hang, no lost text.

NPUDOCTOR_FUZZ sets the number of cases per parser (default 40; `.ci/nightly` uses 10,000 for each
of the eleven, 110,000 in all).
"""

from __future__ import annotations

import ast
import io
import json
import os
import random
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


def samples(pattern: str) -> list[bytes]:
    found = sorted(p for p in FIXTURES.glob(pattern) if p.is_file())
    assert found, pattern
    return [p.read_bytes()[:SIZE] for p in found[:60]]


def mangled(originals: list[bytes]) -> Any:
    """Real input with pieces cut, doubled, swapped or overwritten; sometimes bytes from nowhere."""

    def build(seed: int) -> bytes:
        rng = random.Random(seed)
        data = bytearray(rng.choice(originals))
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
                data[a:a] = rng.choice(
                    (b"\x00", b"\r", b"\xff\xfe", b"'" * 9, b"(" * 200, b"\x1b[31m", b"9" * 400)
                )
            else:
                data = data[: rng.randrange(len(data) + 1)]
        return bytes(data)

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

    scanner = Scanner(all_symptoms())
    scanner.scan(io.BytesIO(data))
    ranked(scanner)


def bundles(data: bytes) -> None:
    """A bundle that reads is diagnosed, whatever was cut out of it."""
    import tempfile

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
    import tempfile

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


def rule_pages() -> list[bytes]:
    blocks = []
    for page in samples("rules/*.md"):
        parts = page.split(b"```")
        blocks += [p.split(b"\n", 1)[1] for p in parts[1::2] if b"\n" in p]
    return blocks


PARSERS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "npu-smi": (npu_smi, lambda: samples("npu_smi/*.txt")),
    "version files": (version_files, lambda: [b"Version=25.0.rc1\ncompatible_version_fw=[7.0.0,7.1.99]\n"]),
    "logs": (logs, lambda: samples("logs/*")),
    "bundles": (bundles, lambda: [p.read_bytes() for p in sorted(FIXTURES.glob("machines/*.json"))[:20]]),
    "python": (python, rule_pages),
    "notebook": (other_language("notebook"), notebooks),
    "shell": (other_language("shell"), lambda: samples("cuda_ppo/*.sh")),
    "yaml": (other_language("yaml"), lambda: samples("cuda_ppo/*.yaml")),
    "requirements": (other_language("requirements"), lambda: samples("cuda_ppo/requirements.txt")),
    "traces": (traces, trace_samples),
    "databases": (traces, database_samples),
}


@pytest.mark.parametrize("name", list(PARSERS))
def test_parser_survives(name: str) -> None:
    parse, originals = PARSERS[name]

    @settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(mangled(originals()))
    def check(data: bytes) -> None:
        parse(data)

    check()
