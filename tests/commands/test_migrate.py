"""`npudoctor migrate` as a user meets it: modes, formats, exit codes, bad input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.conftest import ROOT, RunCli

CODE = "import torch\n\nnet = torch.nn.Linear(4, 2).cuda()  # keep\n"
MANUAL = "FROM nvidia/cuda:12.1.0-devel\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "my repo 中文"
    (root / "sub").mkdir(parents=True)
    (root / "train.py").write_text(CODE)
    (root / "sub" / "run.sh").write_text("#!/bin/sh\npython train.py --device cuda\n")
    (root / "sub" / "run.sh").chmod(0o755)
    (root / "plain.py").write_text("x = 1\n")
    (root / "data.bin").write_bytes(b"\0cuda")
    return root


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (p for p in sorted(root.rglob("*")) if p.is_file())
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mode) for p in files}


def test_in_place_again_and_undo(repo: Path, run_cli: RunCli) -> None:
    before = snapshot(repo)
    first = run_cli("migrate", repo)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "2 files migrated" in first.stdout
    assert "--undo" in first.stdout
    assert (repo / "train.py").read_text().endswith("net = torch.nn.Linear(4, 2).npu()  # keep\n")
    assert os.access(repo / "sub" / "run.sh", os.X_OK)
    second = run_cli("migrate", repo, "--check")
    assert (second.returncode, "nothing to migrate" in second.stdout) == (0, True)
    undone = run_cli("migrate", "--undo", repo)
    assert (undone.returncode, "2 files restored" in undone.stdout) == (0, True)
    assert snapshot(repo) == before
    nothing = run_cli("migrate", "--undo", repo)
    assert nothing.returncode == 2
    assert nothing.stderr.startswith("npudoctor: no migration to undo")


def test_check_and_diff_write_nothing(repo: Path, run_cli: RunCli) -> None:
    before = snapshot(repo)
    assert run_cli("migrate", "--check", repo).returncode == 1
    assert run_cli("migrate", "--check", repo, "--exit-zero").returncode == 0
    diff = run_cli("migrate", "--diff", repo)
    assert diff.returncode == 1
    assert "\x1b" not in diff.stdout
    assert snapshot(repo) == before
    (repo / "train.py").write_text("x = 1\n")
    (repo / "sub" / "run.sh").unlink()
    for option in ("--check", "--diff"):
        assert run_cli("migrate", option, repo).returncode == 0


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch command")
def test_the_diff_is_a_patch(repo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    (repo / "crlf.py").write_bytes(b"import torch\r\nnet = torch.nn.Linear(1, 1).cuda()")
    (repo / "long.py").write_text(CODE + "x = 1\n" * 300 + "y = torch.zeros(1).cuda()\n")
    diff = run_cli("migrate", "--diff", "--report-file", tmp_path / "out.diff", repo)
    assert (diff.returncode, diff.stdout) == (1, "")
    patched = tmp_path / "patched"
    shutil.copytree(repo, patched)
    patch = ["patch", "-p1", "--binary", "-i", str(tmp_path / "out.diff")]
    subprocess.run(patch, cwd=patched, check=True, capture_output=True)
    run_cli("migrate", "--quiet", repo)
    shutil.rmtree(repo / ".npudoctor")
    assert snapshot(patched) == snapshot(repo)


def test_a_copy(repo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    before = snapshot(repo)
    (repo / "link.py").symlink_to("train.py")
    done = run_cli("migrate", repo, "--output", tmp_path / "out" / "copy")
    assert done.returncode == 0, done.stderr
    copy = tmp_path / "out" / "copy"
    assert "npu" in (copy / "train.py").read_text()
    assert (copy / "data.bin").read_bytes() == b"\0cuda"
    assert os.access(copy / "sub" / "run.sh", os.X_OK)
    assert os.readlink(copy / "link.py") == "train.py"
    (repo / "link.py").unlink()
    assert snapshot(repo) == before
    again = run_cli("migrate", repo, "--output", copy)
    assert (again.returncode, "not an empty folder" in again.stderr) == (2, True)
    inside = run_cli("migrate", repo, "--output", repo / "inside")
    assert inside.returncode == 0
    assert not (repo / "inside" / "inside").exists()


def test_a_single_file(repo: Path, run_cli: RunCli) -> None:
    assert run_cli("migrate", repo / "train.py").returncode == 0
    assert "cuda" in (repo / "sub" / "run.sh").read_text()
    assert run_cli("migrate", "--undo", repo / "train.py").returncode == 0
    assert (repo / "train.py").read_text() == CODE
    assert not (repo / ".npudoctor").exists()


def test_items_left_set_the_exit_code(repo: Path, run_cli: RunCli) -> None:
    (repo / "Dockerfile").write_text(MANUAL)
    done = run_cli("migrate", repo)
    assert done.returncode == 1
    assert "NPU175" in done.stdout
    assert "1 item is left for you" in done.stdout
    assert run_cli("migrate", repo, "--ignore", "NPU175").returncode == 0


def test_json(repo: Path, run_cli: RunCli) -> None:
    done = run_cli("migrate", repo, "--json", "--lang", "zh")
    report = json.loads(done.stdout)
    assert report["schema"] == "npudoctor.report/1"
    assert report["exit_code"] == done.returncode == 0
    extra = report["extra"]
    assert [f["path"] for f in extra["files_changed"]] == ["sub/run.sh", "train.py"]
    assert extra["edits_by_code"]["NPU101"] == 1
    assert extra["written"] is True
    assert "已迁移" in report["verdict"]


FORMS = ["text-en", "text-zh", "json-en", "sarif-zh", "github-en", "html-zh"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form(repo: Path, run_cli: RunCli, form: str) -> None:
    form, lang = form.split("-")
    (repo / "Dockerfile").write_text(MANUAL)
    done = run_cli("migrate", "--check", "--format", form, "--lang", lang, repo)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert "NPU101" in done.stdout
    assert "\x1b" not in done.stdout
    if form in ("json", "sarif"):
        json.loads(done.stdout)


def test_quiet_and_chinese(repo: Path, run_cli: RunCli) -> None:
    assert run_cli("migrate", "--check", "-q", repo).stdout == ""
    done = run_cli("migrate", "--check", repo, env={"LC_ALL": "zh_CN.UTF-8"})
    assert "将修改" in done.stdout
    done = run_cli("migrate", "--check", repo, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 1, done.stderr


def test_settings_of_the_project(repo: Path, run_cli: RunCli) -> None:
    (repo / "pyproject.toml").write_text(
        '[tool.npudoctor]\nexclude = ["sub/"]\n[tool.npudoctor.per-file-ignores]\n"train.py" = ["NPU101"]\n'
    )
    assert run_cli("migrate", "--check", repo).returncode == 0
    assert run_cli("migrate", "--check", "--select", "NPU172", repo).returncode == 0
    (repo / "pyproject.toml").write_text('[tool.npudoctor]\nstile = "npu"\n')
    done = run_cli("migrate", "--check", repo)
    assert (done.returncode, "did you mean 'style'" in done.stderr) == (2, True)


def test_the_projects_language(repo: Path, run_cli: RunCli) -> None:
    (repo / "pyproject.toml").write_text('[tool.npudoctor]\nlang = "zh"\n')
    assert "将修改" in run_cli("migrate", "--check", repo).stdout
    assert "would change" in run_cli("migrate", "--check", repo, "--lang", "en").stdout


def test_interrupted(repo: Path) -> None:
    """Ctrl-C while files are looked at: exit code 130, one sentence, nothing written."""
    (repo / "long.py").write_text("import torch\n" + "x = torch.zeros(1).cuda()\n" * 12_000)
    before = snapshot(repo)
    command = [sys.executable, "-m", "npudoctor", "migrate", str(repo), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 30  # a worker is there: the files are being looked at
    while process.poll() is None and not psutil.Process(process.pid).children() and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it was done before the signal came")
    assert process.returncode in (130, -signal.SIGINT)
    after = snapshot(repo)
    # Names only: pytest would spend minutes on the difference of two long texts.
    assert sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n)) == []
    assert process.returncode < 0 or "npudoctor: interrupted" in said


def test_select_and_ignore(repo: Path, run_cli: RunCli) -> None:
    done = run_cli("migrate", "--check", "--json", "--select", "NPU172,NPU173", repo)
    assert set(json.loads(done.stdout)["extra"]["edits_by_code"]) == {"NPU172"}
    done = run_cli("migrate", "--check", "--select", "NPU999", repo)
    assert (done.returncode, "no rule has a code" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], ["data.bin"], ["--style", "gpu", "."], ["--diff", "--check", "."],
     ["--diff", "--json", "."], ["--jobs", "0", "."], ["train.py", "--output", "x"], [],
     ["--torch-npu", "newest", "."]],
)
def test_bad_input_is_one_sentence(repo: Path, run_cli: RunCli, arguments: list[str]) -> None:
    before = snapshot(repo)
    done = run_cli("migrate", *arguments, cwd=repo)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("npudoctor: ")
    assert "Traceback" not in done.stderr
    assert snapshot(repo) == before


def test_an_empty_folder(tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli("migrate", tmp_path)
    assert (done.returncode, "nothing to migrate" in done.stdout) == (0, True)
    assert list(tmp_path.iterdir()) == []


def test_hostile_names_do_not_reach_the_terminal(tmp_path: Path, run_cli: RunCli) -> None:
    code = "import torch\nx = torch.cuda.nvtx.range_push('\x1b[2J')\n"
    (tmp_path / "a\x1b[2Jb\n[red]c.py").write_text(code)
    for form in ("text", "github", "sarif", "html"):
        done = run_cli("migrate", "--check", "-v", "--format", form, tmp_path)
        assert "\x1b" not in done.stdout
    assert "\x1b" not in run_cli("migrate", tmp_path).stdout


STRANGE = [
    "with space.py", "中文.py", "new\nline.py", "quo\"te's.py", "-rf.py", "$(touch ran).py",
    "; touch ran .py", "esc\x1b[31m.py", os.fsdecode(b"raw\xff.py"), "x" * 250 + ".py",
]


def test_strange_names_are_migrated_and_brought_back(tmp_path: Path, run_cli: RunCli) -> None:
    root = tmp_path / "a b\n中 文'"
    for name in STRANGE:
        (root / name.removesuffix(".py")[:200]).mkdir(parents=True)
        (root / name.removesuffix(".py")[:200] / name).write_text(CODE)
    before = snapshot(root)
    done = run_cli("migrate", root, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(STRANGE)} files migrated" in done.stdout
    after = {name: data for name, (data, _) in snapshot(root).items() if not name.startswith(".npudoctor")}
    assert after.keys() == before.keys()
    assert all(b".npu()" in data for data in after.values())
    assert run_cli("migrate", "--undo", root).returncode == 0
    assert snapshot(root) == before
    assert [p.name for p in tmp_path.rglob("ran")] == []


@pytest.mark.slow
def test_a_tree_of_twenty_thousand_files(tmp_path: Path, run_cli: RunCli) -> None:
    for i in range(400):
        folder = tmp_path / f"d{i % 20}" / f"e{i}"
        folder.mkdir(parents=True)
        for j in range(50):
            (folder / f"f{j}.py").write_text(CODE if j == 7 else f"x = {i}\n")
    done = run_cli("migrate", "--json", tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    extra = json.loads(done.stdout)["extra"]
    assert extra["files_looked_at"] == 20_000
    assert len(extra["files_changed"]) == 400
    assert json.loads(run_cli("migrate", "--undo", "--json", tmp_path).stdout)["extra"]["restored"][399:]
    assert not [p for p in tmp_path.glob("d*/e*/f7.py") if p.read_text() != CODE]


def test_nothing_outside_a_hostile_tree_is_touched(tmp_path: Path, run_cli: RunCli) -> None:
    """Links that lead out, a line of 100 MB, a notebook that is nearly all output, folders without end."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "sub").mkdir(parents=True)
    for path in (outside / "victim.py", outside / "sub" / "victim.py"):
        path.write_text(CODE)
    root.mkdir()
    (root / "train.py").write_text(CODE)
    (root / "out.py").symlink_to(outside / "victim.py")
    (root / "folder").symlink_to(outside / "sub")
    (root / "self").symlink_to(root)
    os.mkfifo(root / "pipe.py")
    with (root / "line.py").open("wb") as stream:
        stream.write(b"x = '")
        stream.truncate(100 << 20)
    cells = [
        {"cell_type": "code", "metadata": {}, "source": [CODE], "outputs": [{"text": "cuda " * (2 << 20)}]}
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (root / "outputs.ipynb").write_text(notebook)
    (root.joinpath(*["d"] * 200)).mkdir(parents=True)
    before, trees = snapshot(outside), (root / "outputs.ipynb").read_bytes()
    done = run_cli("migrate", root, "--json")
    assert done.returncode in (0, 1), done.stderr
    extra = json.loads(done.stdout)["extra"]
    assert [f["path"] for f in extra["files_changed"]] == ["outputs.ipynb", "train.py"]
    after = json.loads((root / "outputs.ipynb").read_text())["cells"][0]
    assert ".npu()" in "".join(after["source"])
    assert after["outputs"] == cells[0]["outputs"]
    assert run_cli("migrate", "--undo", root).returncode == 0
    assert (root / "outputs.ipynb").read_bytes() == trees
    copied = run_cli("migrate", root, "--output", tmp_path / "copy")
    assert copied.returncode in (0, 1), copied.stderr
    assert not list((tmp_path / "copy").rglob("victim.py"))
    assert snapshot(outside) == before


def test_nothing_of_the_repository_runs(repo: Path, run_cli: RunCli) -> None:
    """Neither its modules nor what its git configuration names."""
    trap = f"open({str(repo / 'ran')!r}, 'w')\n"
    for name in ("torch.py", "torch_npu.py", "sitecustomize.py", "conftest.py", "setup.py", "json.py"):
        (repo / name).write_text(trap + "import torch\nx = torch.zeros(1).cuda()\n")
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    config = f"[core]\n\tfsmonitor = touch {repo / 'ran'}\n\thooksPath = .\n[alias]\n\tstatus = !touch ran\n"
    with (repo / ".git" / "config").open("a") as stream:
        stream.write(config)
    assert run_cli("migrate", repo, cwd=repo.parent).returncode == 0
    assert not (repo / "ran").exists()
    assert "npu" in (repo / "torch.py").read_text()


def test_a_read_only_file_is_reported(repo: Path, run_cli: RunCli) -> None:
    (repo / "train.py").chmod(0o444)
    done = run_cli("migrate", repo)
    assert done.returncode == 1
    assert "not written: it is read-only" in done.stdout
    assert (repo / "train.py").read_text() == CODE


TRAIN = """import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for _ in range(2):
    loss = net(torch.randn(8, 3, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss", losses[-1]{tail})
"""


def test_verify_writes_when_the_numbers_are_the_same(tmp_path: Path, run_cli: RunCli) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN.replace("{tail}", ""))
    done = run_cli("migrate", tmp_path, "--verify", "python train.py", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    proof = json.loads(done.stdout)["extra"]["verify"]
    assert (proof["same"], proof["simulated"]) == (True, True)
    assert proof["compared"] == {"printed": 1, "logged": 0, "weights": 2}
    assert proof["before"]["syncs"] == proof["after"]["syncs"] + 1, "one list for two reads"
    assert proof["before_failed"] is None
    assert ".npu()" in (tmp_path / "train.py").read_text()


def test_verify_writes_nothing_when_a_number_changes(tmp_path: Path, run_cli: RunCli) -> None:
    pytest.importorskip("torch")
    before = TRAIN.replace("{tail}", ' + (net.weight.device.type == "cpu")')
    (tmp_path / "train.py").write_text(before)
    done = run_cli("migrate", tmp_path, "--verify", "python train.py")
    assert done.returncode == 1
    assert "NPU403" in done.stdout
    assert "would change" in done.stdout
    assert (tmp_path / "train.py").read_text() == before
    copied = tmp_path.parent / f"{tmp_path.name}-copy"
    assert run_cli("migrate", tmp_path, "--output", copied, "--verify", "python train.py").returncode == 1
    assert not copied.exists()


def test_verify_excludes_undo_and_diff(repo: Path, run_cli: RunCli) -> None:
    for other in ("--undo", "--diff"):
        assert run_cli("migrate", repo, "--verify", "python train.py", other).returncode == 2


def test_another_system_gets_help_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from npudoctor.commands import migrate
    from npudoctor.core.errors import UserError

    monkeypatch.setattr(migrate, "os", SimpleNamespace(name="nt"))
    migrate.COMMAND.main(["--help", "--lang", "en"], standalone_mode=False)
    assert "--diff" in capsys.readouterr().out
    with pytest.raises(UserError, match="Linux"):
        migrate.COMMAND.main([str(tmp_path)], standalone_mode=False)
