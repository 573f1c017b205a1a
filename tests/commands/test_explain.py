"""`npudoctor explain`: logs that users reported, codes, and bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npudoctor.commands.explain import _UNITS, _unit_page

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "logs"
CASES = sorted(LOGS.glob("*.json"))


def run(run_cli: Any, *args: object, **kwargs: Any) -> dict[str, Any]:
    done = run_cli("explain", *args, "--json", **kwargs)
    assert done.returncode in (0, 1), done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == result["exit_code"]
    return result


def walk(finding: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding, *(x for below in finding["consequences"] for x in walk(below))]


def test_there_are_cases() -> None:
    assert len(CASES) >= 8


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_reported_logs(case: Path, run_cli: Any) -> None:
    expected = json.loads(case.read_text(encoding="utf-8"))
    report = run(run_cli, case.with_suffix(".txt").name, cwd=LOGS)
    first = report["findings"][0]
    everything = [f for finding in report["findings"] for f in walk(finding)]
    assert first["slug"] == expected["first"]
    assert first["place"]["line"] == expected["line"]
    assert report["exit_code"] == expected["exit"]
    assert {f["slug"] for f in everything} >= set(expected.get("also", []))
    words = json.dumps(report["findings"], ensure_ascii=False)
    for word in expected["says"]:
        assert word in words
    shown = json.dumps([[f["title"], f["cause"], f["fixes"]] for f in everything], ensure_ascii=False)
    for word in expected["never_says"]:
        assert word not in shown
    if "candidates" in expected:
        assert report["extra"]["matches"][0]["candidates"] >= expected["candidates"]
        assert "candidate 1" in words
    if "strength" in expected:
        assert report["extra"]["matches"][0]["strength"] == expected["strength"]


def test_standard_input(run_cli: Any) -> None:
    report = run(run_cli, "-", stdin="ok\nRuntimeError: Tensors must be contiguous\n")
    assert report["findings"][0]["place"] == {"path": "-", "line": 2}


def test_a_code_in_a_log_is_translated(run_cli: Any) -> None:
    report = run(run_cli, "-", stdin="NPU function error: A(), error code is 507024\n")
    assert "507024 means: the operator is being removed" in report["findings"][0]["cause"]
    assert report["findings"][0]["fixes"][0]["commands"] == ["npudoctor explain 507024"]


def test_nothing_known(run_cli: Any, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("epoch 1 loss 0.3\n" * 50)
    report = run(run_cli, log)
    assert report["findings"] == []
    assert report["exit_code"] == 0
    assert "50 lines" in report["verdict"]


def test_an_empty_and_a_binary_file(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "core").write_bytes(bytes(range(256)) * 4000)
    assert run(run_cli, tmp_path / "empty")["exit_code"] == 0
    assert run(run_cli, tmp_path / "core")["exit_code"] == 0


@pytest.mark.parametrize("code", ["507008", "EI0006", "-8005", "NPU9001", "reward-flat"])
def test_code_pages(code: str, run_cli: Any) -> None:
    done = run_cli("explain", code)
    assert done.returncode == 0, done.stderr
    assert "cause" in done.stdout


@pytest.mark.parametrize("package", _UNITS)
def test_every_unit_has_a_page(package: str) -> None:
    import importlib
    import pkgutil

    names = [m.name for m in pkgutil.iter_modules(importlib.import_module(package).__path__)]
    codes = [name.split("_")[0] for name in names if name.startswith("npu") and name[3:6].isdigit()]
    assert codes
    for code in codes:
        page = _unit_page(code)
        assert page is not None, code
        assert page.blocks[0].title.en.startswith(code.upper())


def test_every_code_has_a_page_on_a_core_install() -> None:
    """As after `pip install npudoctor`: without what the other commands need."""
    from npudoctor import dev

    program = (
        "import sys\n"
        "for name in 'numpy torch gymnasium onnx onnxruntime ijson jinja2 matplotlib'.split():\n"
        "    sys.modules[name] = None\n"
        "from npudoctor.commands.explain import _page\n"
        "for code in sys.argv[1:]:\n"
        "    assert _page(code, 5).blocks[0].lines, code\n"
    )
    codes = [page.code for page in dev.pages()]
    command = [sys.executable, "-c", program, *codes]
    done = subprocess.run(command, cwd=LOGS.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", ["NPU097", "NPU506", "NPU603", "NPU801"])
def test_codes_of_commands_without_units_have_a_page(code: str, run_cli: Any) -> None:
    english, chinese = (run_cli("explain", code, "--lang", lang).stdout for lang in ("en", "zh"))
    assert english.startswith(code)
    assert "says:" in english
    assert "cause:" in english
    assert not re.search("[\u4e00-\u9fff]", english)
    assert "原因:" in chinese


@pytest.mark.parametrize("code", ["NPU100", *(f"NPU19{i}" for i in range(10))])
def test_findings_about_whole_files_have_a_page(code: str, run_cli: Any) -> None:
    done = run_cli("explain", code, "--lang", "en")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(code)
    assert "cause:" in done.stdout
    assert "fix:" in done.stdout
    assert "{" not in done.stdout
    assert "整个文件" in run_cli("explain", code.lower(), "--lang", "zh").stdout


def test_a_pasted_message_is_read_as_a_log(run_cli: Any) -> None:
    message = "RuntimeError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity)"
    for text in (message, (message + " ") * 40, "Traceback (most recent call last):\n  ...\n" + message):
        report = run(run_cli, text)
        assert report["findings"][0]["slug"] == "npu-out-of-memory"
        assert report["exit_code"] == 1
    unknown = run_cli("explain", "nothing of the kind was ever " * 20)
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("npudoctor: nothing of the kind")


def test_a_pipe_with_a_name(run_cli: Any, tmp_path: Path) -> None:
    """As in `npudoctor explain <(zcat old.log.gz)`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", LOGS / "hccp-busy.txt", pipe])
    report = run(run_cli, pipe)
    assert writer.wait(timeout=20) == 0
    assert report["findings"][0]["code"] == "NPU9341"


def test_closed_standard_input_is_one_sentence() -> None:
    line = f'"{sys.executable}" -m npudoctor explain - <&-'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=LOGS.parents[1], check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("npudoctor: ")


def test_unknown_code_is_unknown_not_wrong(run_cli: Any) -> None:
    for code in ("599999", "UNKNOWNCODE", "ZZ9999"):
        report = run(run_cli, code)
        assert "unknown to the table of 2026" in report["verdict"]
        assert report["exit_code"] == 1


def test_words(run_cli: Any) -> None:
    report = run(run_cli, "slow", "inference")
    assert report["extra"]["symptoms"][0]["id"] == "slow-inference"


@pytest.mark.parametrize("what", ["no-such.log", "no such words", "/", "\x00x"])
def test_bad_input(what: str, run_cli: Any) -> None:
    if "\x00" in what:
        what = "bad\udcffname"
    done = run_cli("explain", what)
    assert done.returncode == 2
    assert done.stderr.startswith("npudoctor: ")
    assert "Traceback" not in done.stderr


def test_chinese(run_cli: Any) -> None:
    done = run_cli("explain", "libgomp-static-tls.txt", "--lang", "zh", cwd=LOGS)
    assert "修复" in done.stdout
    assert "/opt/envs/npu/lib/libgomp.so.1" in done.stdout


def test_limit(run_cli: Any, tmp_path: Path) -> None:
    log = tmp_path / "many.log"
    log.write_text(
        "RuntimeError: Tensors must be contiguous\n"
        "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n"
        "ImportError: libatb.so: cannot open shared object file\n"
    )
    assert len(run(run_cli, log, "--limit", "1")["findings"]) == 1
    assert len(run(run_cli, log, "--limit", "0")["findings"]) == 3


@pytest.mark.parametrize("code", ["NPU085", "NPU012", "NPU501", "NPU304", "NPU610", "NPU401", "NPU105"])
def test_unit_pages_are_chinese_in_chinese(code: str, run_cli: Any) -> None:
    page = run_cli("explain", code, "--lang", "zh").stdout
    about = next(line for line in page.splitlines() if "说明:" in line)
    assert re.search("[\u4e00-\u9fff]{4}", about.partition("说明:")[2])
    english = run_cli("explain", code, "--lang", "en").stdout
    assert not re.search("[\u4e00-\u9fff]", english)
    assert "{" not in page
