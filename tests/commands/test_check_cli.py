"""`npudoctor check` around its edges: bad input, hanging tools, poor surroundings, schema, lazy imports."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from npudoctor.tables import DATA
from tests.conftest import ROOT, RunCli
from tests.support import overlays

REPORT = json.loads((DATA / "schema" / "report-1.json").read_text(encoding="utf-8"))
BUNDLE = json.loads((DATA / "schema" / "bundle-1.json").read_text(encoding="utf-8"))
HEALTHY = overlays.MACHINES / "910b-host-ok.json"
BROKEN = overlays.MACHINES / "laptop-torch-npu-no-cann.json"


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["910b-host-ok", "laptop-torch-npu-no-cann", "910b-host-npu-smi-hangs"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_follows_its_schema(run_cli: RunCli, name: str, lang: str) -> None:
    done = run_cli("check", "--replay", overlays.MACHINES / f"{name}.json", "--json", "--lang", lang)
    report = json.loads(done.stdout)
    jsonschema.validate(report, REPORT)
    assert report["exit_code"] == done.returncode


def test_record_then_replay_gives_the_same_report(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    live = run_cli("check", "--no-probes", "--json", "--record", path)
    jsonschema.validate(json.loads(path.read_text()), BUNDLE)
    again = run_cli("check", "--replay", path, "--json")
    one, two = json.loads(live.stdout), json.loads(again.stdout)
    assert [f["code"] for f in one["findings"]] == [f["code"] for f in two["findings"]]
    assert one["verdict"] == two["verdict"]


def test_a_bundle_through_a_pipe(run_cli: RunCli) -> None:
    done = run_cli("check", "--no-probes", "--exit-zero", "--record", "-")
    assert done.returncode == 0
    jsonschema.validate(json.loads(done.stdout), BUNDLE)
    again = run_cli("check", "--replay", "-", "--json", stdin=done.stdout)
    assert json.loads(again.stdout)["command"] == "check"


# What the environment of a cluster says about its people and its network, and none may read.
PLANTED = {
    "HF_TOKEN": "hf_plantedplantedplantedplanted1234",
    "WANDB_API_KEY": "0123456789plantedkey",
    "https_proxy": "http://zhangsan:plantedpassword@proxy.secretcorp.example:3128",
    "PIP_INDEX_URL": "https://zhangsan:plantedpassword@pypi.secretcorp.example/simple",
    "LD_LIBRARY_PATH": "/nfs/users/zhangsan/lib",
    "ASCEND_HOME_PATH": "/home/zhangsan/Ascend",
    "SLURM_JOB_USER": "zhangsan",
    "SLURM_NODELIST": "secretrack[17-20]",
    "MASTER_ADDR": "10.11.12.13",
    "HCCL_IF_IP": "10.11.12.13",
}
SECRET = ("zhangsan", "planted", "secretcorp", "secretrack", "10.11.12.13", "aa:bb:cc:dd:ee", "SN77PLANTED")
SMI = "Serial Number : SN77PLANTED\nVDie ID : planted 1234\nlink aa:bb:cc:dd:ee:0f at 10.11.12.13 of zhangsan"


def test_a_recorded_bundle_holds_no_planted_secret(run_cli: RunCli, tmp_path: Path) -> None:
    """Variables, tools and an import of torch that all say more than may leave the machine."""
    home = tmp_path / "home" / "zhangsan"
    home.mkdir(parents=True)
    script(tmp_path / "npu-smi", f"#!/bin/sh\ncat <<'EOF'\n{SMI}\nEOF\n")
    (home / "torch.py").write_text("raise ImportError('http://zhangsan:plantedpassword@10.11.12.13/x')\n")
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {**PLANTED, "HOME": str(home), "USER": "zhangsan", "PATH": path, "PYTHONPATH": str(home)}
    done = run_cli("check", "--exit-zero", "--record", "-", env=env)
    assert done.returncode == 0, done.stderr
    jsonschema.validate(json.loads(done.stdout), BUNDLE)
    assert "Ascend" in done.stdout
    assert "Serial Number" in done.stdout, "the tool was asked"
    assert [word for word in SECRET if word in done.stdout] == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--replay", "/nowhere.json"), "cannot read the bundle"),
        (("--replay", "/dev/null"), "not a machine bundle"),
        (("--record", "/nowhere/x.json", "--no-probes"), "cannot write the bundle"),
        (("--record", "a.json", "--replay", "b.json"), "exclude each other"),
        (("--ignore", "NPU999"), "there is no check NPU999"),
        (("--timeout", "-1"), "--timeout"),
        (("--table", "/nowhere.tsv"), "nowhere.tsv"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(
    run_cli: RunCli, tmp_path: Path, args: tuple, words: str
) -> None:
    done = run_cli("check", *args, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_bundles(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("check", "--replay", tmp_path)
    assert done.returncode == 2
    assert "no bundle" in done.stderr


def test_a_python_that_sleeps_for_ever(run_cli: RunCli, tmp_path: Path) -> None:
    packages = {
        "torch": [{"version": "2.6.0", "location": "/x", "build": "2.6.0+cpu"}],
        "torch-npu": [{"version": "2.6.0", "location": "/x", "requires": ["torch==2.6.0"]}],
    }
    facts = {"executable": "/x/python", "version": "3.11.9", "kind": "venv", "packages": packages}
    python = script(
        tmp_path / "python",
        f"""#!{sys.executable}
import json, sys, time
if len(sys.argv) > 3:
    print("NPUDOCTOR " + {json.dumps(json.dumps(facts))})
else:
    print("about to hang", flush=True)
    time.sleep(600)
""",
    )
    started = time.monotonic()
    done = run_cli("check", "--json", "--python", python, "--timeout", "2")
    assert time.monotonic() - started < 15
    codes = [f["code"] for root in json.loads(done.stdout)["findings"] for f in [root, *root["consequences"]]]
    assert "NPU077" in codes
    assert done.returncode == 1


def test_an_interpreter_that_sleeps_for_ever(run_cli: RunCli, tmp_path: Path) -> None:
    python = script(tmp_path / "python", "#!/bin/sh\nsleep 600 &\nsleep 600\n")
    started = time.monotonic()
    done = run_cli("check", "--json", "--python", python, "--timeout", "1")
    assert time.monotonic() - started < 10
    assert json.loads(done.stdout)["findings"][0]["code"] == "NPU002"
    assert done.returncode == 1


def test_an_npu_smi_that_sleeps_for_ever(run_cli: RunCli, tmp_path: Path) -> None:
    script(tmp_path / "npu-smi", "#!/bin/sh\nsleep 600 &\nsleep 600\n")
    started = time.monotonic()
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run_cli("check", "--json", "--no-probes", "--smi-timeout", "1", env=env)
    assert time.monotonic() - started < 10
    report = json.loads(done.stdout)
    hangs = next(
        f for root in report["findings"] for f in [root, *root["consequences"]] if f["code"] == "NPU018"
    )
    assert "does not answer" in hangs["title"]


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/true", "/etc/passwd"])
def test_an_interpreter_that_is_none(run_cli: RunCli, python: str) -> None:
    done = run_cli("check", "--json", "--python", python)
    report = json.loads(done.stdout)
    assert report["findings"][0]["code"] == "NPU002"
    assert done.returncode == 1


def test_no_home_c_locale_and_no_terminal(run_cli: RunCli) -> None:
    env = {
        "LANG": "C",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
    }
    for lang in ("en", "zh"):
        done = subprocess.run(
            [sys.executable, "-m", "npudoctor", "check", "--no-probes", "--lang", lang],
            env=env,
            cwd="/",
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (0, 1), done.stderr
        assert b"Traceback" not in done.stderr
        assert b"\x1b[" not in done.stdout


@pytest.fixture
def for_others() -> Iterator[Path]:
    """A folder that another user may read and not write, with a copy of the package in it."""
    folder = Path(tempfile.mkdtemp(prefix="npudoctor-"))
    shutil.copytree(ROOT / "npudoctor", folder / "npudoctor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HEALTHY, folder / "machine.json")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_as_another_user_without_home_where_nothing_can_be_written(for_others: Path) -> None:
    python = "/usr/bin/python3"
    site = [p for p in sys.path if p.endswith("site-packages")]
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join([str(for_others), *site])}
    become = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); "

    def run(code: str) -> subprocess.CompletedProcess[str]:
        argv = [python, "-B", "-c", become + code]
        return subprocess.run(
            argv, env=env, cwd=for_others, capture_output=True, text=True, timeout=60, check=False
        )

    if (
        not Path(python).exists()
        or run("import click, rich, packaging; assert sys.version_info >= (3, 9)").returncode
    ):
        pytest.skip("no interpreter here that another user can run with our dependencies")
    done = run("from npudoctor.cli import main; main(['check', '--no-probes', '--json'])")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["command"] == "check"
    done = run("from npudoctor.cli import main; main(['check', '--replay', 'machine.json'])")
    assert done.returncode == 0, done.stderr
    done = run("from npudoctor.cli import main; main(['check', '--no-probes', '--record', 'x.json'])")
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_strict_ignore_quiet_and_output(run_cli: RunCli, tmp_path: Path) -> None:
    warned = overlays.MACHINES / "report-42-blocking-launch-left-on.json"
    assert run_cli("check", "--replay", warned).returncode == 0
    assert run_cli("check", "--replay", warned, "--strict").returncode == 1
    assert run_cli("check", "--replay", warned, "--strict", "--ignore", "NPU085").returncode == 0
    assert run_cli("check", "--replay", BROKEN, "--exit-zero").returncode == 0
    quiet = run_cli("check", "--replay", BROKEN, "-q")
    assert (quiet.returncode, quiet.stdout) == (1, "")
    out = tmp_path / "r.json"
    done = run_cli("check", "--replay", BROKEN, "--json", "-o", out)
    assert done.stdout == ""
    assert json.loads(out.read_text())["command"] == "check"


def test_a_site_table_is_used_and_named(run_cli: RunCli, tmp_path: Path) -> None:
    table = tmp_path / "site.tsv"
    table.write_text("# date: 2026-01-02\ntorch_npu\ttorch\tcann\tpython\n2.6.0\t2.6.0\t8.2.RC1\t3.8\n")
    done = run_cli("check", "--replay", HEALTHY, "--json", "--table", table)
    report = json.loads(done.stdout)
    assert [f["code"] for f in report["findings"]] == ["NPU050"], "the site says Python 3.8 only"
    assert any("site" in name for name in report["tables"])


@pytest.mark.parametrize("words", [["--replay", str(HEALTHY)], ["--no-probes"]], ids=lambda w: w[0])
def test_check_imports_neither_torch_nor_libcst(words: list[str]) -> None:
    code = (
        f"import sys\nfrom npudoctor.cli import run\nrun(['check', '-q', *{words!r}])\n"
        "heavy = {'torch', 'torch_npu', 'libcst', 'numpy', 'jinja2', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_a_python_given_by_a_relative_path_is_found(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    done = run_cli("check", "--python", "./python", "--no-probes", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["facts"]["python"]["value"].startswith(platform.python_version())


def test_the_kept_verdict_is_of_one_language(run_cli: RunCli, tmp_path: Path) -> None:
    """What `npudoctor` shows in one language was checked in the other."""
    env = {"XDG_STATE_HOME": str(tmp_path), "NPUDOCTOR_NO_STATE": ""}
    run_cli("check", "--no-probes", "--python", "/nowhere/python", env=env)
    shown = run_cli("--lang", "zh", env=env).stdout
    line = next(line for line in shown.splitlines() if "NPU" in line and "请先修复" in line)
    assert not re.search(r"\b(the|is|not|does)\b", line), line
