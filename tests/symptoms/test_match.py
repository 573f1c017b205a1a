"""The streamed matcher: exact line numbers, any input, bounded work, nothing lost at block edges."""

from __future__ import annotations

import gzip
import io
import pathlib
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.symptoms import blocks, match, rows
from npudoctor.symptoms.match import Scanner
from npudoctor.symptoms.rank import Match, ranked
from npudoctor.symptoms.rows import Rank, all_symptoms

ROWS = all_symptoms()
OOM = "RuntimeError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity)"


def scan(data: bytes) -> Scanner:
    scanner = Scanner(ROWS)
    scanner.scan(io.BytesIO(data))
    return scanner


def explain(text: str) -> tuple[Match, ...]:
    return ranked(scan(text.encode()))


def test_line_numbers_and_counts() -> None:
    lines = [f"step {i} loss {i / 7:.3f}" for i in range(5000)]
    for at in (0, 17, 4999):
        lines[at] = OOM
    found = explain("\n".join(lines))
    assert [m.symptom.id for m in found] == ["npu-out-of-memory"]
    assert [number for number, _ in found[0].lines] == [1, 18, 5000]
    assert found[0].count == 3
    assert found[0].params["size"] == "72.00 MiB"


@pytest.mark.parametrize("block", [7, 64, 1000, 4096])
def test_block_edges_lose_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(match, "BLOCK", 1 << 20)
    text = "\n".join(f"[INFO] line {i}" if i % 50 else OOM for i in range(500))
    found = ranked(scan(text.encode()))
    assert found[0].count == 10
    assert [n for n, _ in found[0].lines] == [1, 51, 101, 151, 201]


def test_codes_that_differ_in_digits_are_not_confused() -> None:
    text = (
        "NPU function error: A(), error code is 507008\n"
        "NPU function error: A(), error code is 507033\n"
        "NPU function error: A(), error code is 507024\n"
    )
    by_id = {m.symptom.id: [n for n, _ in m.lines] for m in explain(text) for m in (m, *m.follows)}
    assert by_id["chip-version-unreadable"] == [1]
    assert by_id["device-start-failed"] == [2]
    assert by_id["acl-code"] == [3], "a code with a row of its own needs no general one"


def test_a_code_goes_before_the_exception_that_carries_it() -> None:
    (found,) = explain("RuntimeError: f: NPU function error: A(), error code is 507024\n")
    assert found.symptom.id == "acl-code"
    assert found.params["code"] == "507024"


def test_a_clean_log_is_silent() -> None:
    random.seed(3)
    text = "\n".join(
        f"[INFO] HCCL({random.randrange(9999)},python3):2025-06-24-11:20:{i % 60:02d}.{i:06d} "
        f"[comm.cc:{i}] rank {i % 8} allreduce done; reward {random.random():.3f}; error 0.{i}; no fault"
        for i in range(3000)
    )
    assert explain(text) == ()


def test_wrappers_and_consequences_fold_under_the_cause() -> None:
    text = (
        "rank 3: Traceback (most recent call last):\n"
        '  File "train.py", line 88, in <module>\n'
        "ZeroDivisionError: division by zero\n"
        "rank 0: EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.\n"
        "[ERROR] 2025-03-16-11:32:36 (PID:8, Device:0, RankID:-1) ERR99999 UNKNOWN applicaiton exception\n"
    )
    found = explain(text)
    assert [m.symptom.id for m in found] == ["python-exception"]
    assert {m.symptom.id for m in found[0].follows} >= {"hccl-timeout", "exit-hook"}
    assert found[0].params["who"] == "3"


def test_exceptions_after_a_named_cause_follow_from_it() -> None:
    (found,) = explain(f"{OOM}\nValueError: batch of 0\n")
    assert [m.symptom.id for m in found.follows] == ["python-exception"]
    before = explain(f"ValueError: batch of 0\n{OOM}\n")
    assert [m.symptom.id for m in before] == ["npu-out-of-memory", "python-exception"]


def test_a_consequence_alone_comes_first() -> None:
    found = explain("EI0006: Getting socket times out.\nHCCL function error: f(), error code is 9\n")
    assert found[0].symptom.id == "hccl-timeout"
    assert found[0].follows


def test_causes_come_before_codes_and_notes() -> None:
    text = (
        "export ASCEND_LAUNCH_BLOCKING=1\n"
        "RuntimeError: Failed to infer device type\n"
        "NPU function error: c10_npu::SetDevice(device_id_), error code is 507033\n"
        "ImportError: libhccl.so: cannot open shared object file: No such file or directory\n"
    )
    found = explain(text)
    ranks = [m.symptom.rank for m in found]
    assert ranks == sorted(ranks)
    assert found[0].symptom.id == "cann-library-missing"
    assert found[-1].symptom.rank is Rank.NOTE


ROW = """
[[symptom]]
id = "two-signs"
code = "NPU9998"
rank = "cause"
severity = "error"
match = ["the sign is (?P<what>[a-z]+)"]
need = ["the sign is"]
also = [{ match = "and the other", need = ["and the other"] }]
context = [{ match = "at (?P<place>[a-z]+) street", need = [" street"] }]
defaults = { place = "nowhere" }
title = { en = "{what} at {place}", zh = "{place} 的 {what}" }
cause = { en = "c", zh = "原因" }
fix = { en = "f", zh = "修复" }
sources = ["https://example.org"]
examples = ["the sign is red"]
"""


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (["the sign is red"], None),
        (["and the other"], None),
        (["at elm street"], None),
        (["and the other", "at elm street"], None),
        (["the sign is red", "at elm street"], None),
        (["the sign is red", "and the other"], "red at nowhere"),
        (["and the other", "at elm street", "the sign is red"], "red at elm"),
    ],
)
def test_every_sign_of_a_row_has_to_be_there_and_context_alone_says_nothing(
    lines: list[str], title: str | None, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "own.toml").write_text(ROW, encoding="utf-8")
    scanner = Scanner(tuple(rows.read(tmp_path / "own.toml")))
    scanner.scan(io.BytesIO("\n".join(lines).encode()))
    found = [m.symptom.title.render("en", m.params) for m in ranked(scanner)]
    assert found == ([] if title is None else [title])


def test_gzip_even_when_cut_off() -> None:
    text = "\n".join([OOM, *(f"line {random.random()}" for _ in range(20000))]).encode()
    packed = gzip.compress(text)
    assert ranked(scan(packed))[0].symptom.id == "npu-out-of-memory"
    assert ranked(scan(packed[: len(packed) // 2]))[0].symptom.id == "npu-out-of-memory"
    assert scan(b"\x1f\x8b" + b"\x00" * 100).hits == {}


def test_utf16_and_crlf() -> None:
    assert ranked(scan(f"ok\r\n{OOM}\r\n".encode("utf-16")))[0].lines[0][0] == 2
    assert ranked(scan(f"ok\r\n{OOM}\r\n".encode()))[0].lines[0][0] == 2


def test_a_line_of_many_megabytes() -> None:
    noise = b"\rprogress 12% " * 700_000
    data = b"first\n" + noise + OOM.encode() + noise + b"\nlast"
    found = ranked(scan(data))
    assert found[0].symptom.id == "npu-out-of-memory"
    assert found[0].lines[0][0] == 2
    assert len(found[0].lines[0][1]) < 1000


def test_a_flood_is_counted_up_to_a_limit() -> None:
    data = "".join(OOM.replace("72", str(i)) + "\n" for i in range(match.ENOUGH + 500)).encode()
    found = ranked(scan(data))[0]
    assert found.count == match.ENOUGH
    assert found.at_least


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000))
def test_garbage_never_raises(data: bytes) -> None:
    ranked(scan(data))


EXAMPLES = [e for row in ROWS for e in row.examples]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(EXAMPLES), min_size=1, max_size=12), st.randoms())
def test_same_answer_as_the_plain_way(examples: list[str], rng: random.Random) -> None:
    """The fast path finds what trying every pattern on every line finds."""
    lines = [*examples, *(f"INFO step {rng.randrange(10**6)} done" for _ in range(20))]
    rng.shuffle(lines)
    scanner = scan("\n".join(lines).encode())
    for probe in scanner.probes:
        if probe.fallback:
            continue
        expected = [i for i, line in enumerate(lines, 1) if probe.regex.search(line)]
        hit = scanner.hits.get(probe)
        assert (hit.count if hit else 0) == len(expected), probe.regex.pattern
        assert [n for n, _ in (hit.lines if hit else [])] == expected[: match.KEEP]


@pytest.mark.parametrize(
    "number",
    ["0x{:012x}", "0x{:X}", "{:016x}", "3e{:06x}-77aa-4b1c-9d00-{:012x}"],
    ids=["address", "upper", "id", "uuid"],
)
def test_lines_that_differ_in_hexadecimal_numbers_are_one_kind(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is counted and numbered, and all but a few are known at once: a plog has one on every line."""
    rng = random.Random(11)
    lines = []
    for place in range(4000):
        text = OOM if place % 100 == 99 else "[INFO] RUNTIME: stream"
        lines.append(f"{text} at {number.format(rng.getrandbits(20) | 0xA00001, rng.getrandbits(48))} done")
    looked_at = 0
    real = match.Sieve.lines

    def counted(self: match.Sieve, text: bytes) -> dict[bytes, set[bytes]]:
        nonlocal looked_at
        looked_at += text.count(b"\n") + 1
        return real(self, text)

    monkeypatch.setattr(match.Sieve, "lines", counted)
    found = explain("\n".join(lines))
    assert found[0].symptom.id == "npu-out-of-memory"
    assert (found[0].count, found[0].lines[1][0]) == (40, 200)
    assert looked_at < 400


def test_a_word_of_the_letters_a_to_f_is_no_number() -> None:
    for word in ("decade", "0xdeadline", "feedfacefeed", "a0b0c0d0e0f0g"):
        key = f"the {word} ended".encode()
        assert match._ID.sub(b"0", match._ADDRESS.sub(b"0x0", key)) == key


def test_patterns_compile_in_linear_time_on_long_lines() -> None:
    """No pattern may run away on a line just below the length that is cut into windows."""
    import time

    line = ("E" * 20 + " error code is " + "9" * 5 + " aclnn" + "x" * 50 + " ") * 80
    line = line[: match.LONG_LINE - 1]
    started = time.monotonic()
    for row in ROWS:
        for pattern in row.match:
            re.search(pattern, line)
    assert time.monotonic() - started < 5


NPU_SMI = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "npu_smi"


def test_recorded_npu_smi_outputs() -> None:
    """Real outputs of healthy chips are silent; those that failed are explained."""
    paths = sorted(NPU_SMI.glob("*.txt"))
    assert len(paths) > 40
    for path in paths:
        found = [m.symptom.id for m in ranked(scan(path.read_bytes()))]
        if path.name.startswith("fail") and "8005" in path.name:
            assert found[0] == "dcmi-8005", path.name
        elif path.name.startswith("fail") and "8020" in path.name:
            assert found[0] == "chip-held-by-another-container", path.name
        elif not path.name.startswith("fail"):
            assert set(found) <= {"chip-health-not-ok", "alarm-on-small-boards"}, path.name


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (
            b"\x1b[1;35mModuleNotFoundError\x1b[0m: \x1b[35mNo module named '\x1b[1mdecorator\x1b[0m'\n",
            "NPU9055",
        ),
        (b"\x1b]0;title\x07ModuleNotFoundError: No module named 'decorator'\n", "NPU9055"),
        (b"ModuleNotFoundError:\x00 No module named 'decorator'\x00\n", "NPU9055"),
        ("ModuleNotFoundError: No module named 'torch_npu'\r\n".encode("utf-16-le"), "NPU9001"),
    ],
)
def test_colours_and_nul_bytes_hide_nothing(data: bytes, code: str) -> None:
    first = ranked(scan(b"fine\n" + data))[0]
    assert (first.symptom.code, first.lines[0][0]) == (code, 2)
    assert "\x1b" not in first.lines[0][1]


def test_of_a_progress_line_only_the_writing_that_matches_is_kept() -> None:
    found = explain("50%|##\r" * 50 + OOM + "\r60%|##\n")
    assert found[0].lines == ((1, OOM),)


def test_a_bare_number_is_explained_by_the_row_of_this_number() -> None:
    found = explain("ReportExceptProc: Device[0] fail code:507015\naclrtSynchronizeStream failed, ret=507015")
    assert [m.symptom.code for m in found] == ["NPU9265"]
    assert [number for number, _ in found[0].lines] == [1, 2]


def test_the_rank_that_raised_is_named() -> None:
    assert explain("[rank5]: KeyError: 'reward'")[0].params["who"] == "5"
