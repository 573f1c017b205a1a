"""`verify` end to end on a small CUDA program: same numbers pass, a changed one is caught."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.simulate.findings import of_verification
from npudoctor.simulate.verify import _SPEED_WORDS, verify
from npudoctor.simulate.verify_report import as_dict, sentences
from tests.support.processes import gone

pytest.importorskip("torch")
PROGRAM = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1).{device}()
optimizer = torch.optim.SGD(net.parameters(), lr={lr})
for _ in range(3):
    loss = net(torch.randn(8, 3, device="{device}")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {read}
print("loss", loss.item())
"""


def write(folder: Path, **words: str) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM.format(**words))
    return folder


def test_a_true_migration_passes_and_shows_the_syncs_saved(tmp_path: Path) -> None:
    before = write(tmp_path / "a", device="cuda", lr="0.1", read="loss.item()")
    after = write(tmp_path / "b", device="npu", lr="0.1", read="pass")
    result = verify("python train.py", before, after)
    assert result.same, result
    assert of_verification(result) == ()
    assert result.compared["weights"] == 2
    numbers = as_dict(result)
    assert numbers["before"]["syncs"] - numbers["after"]["syncs"] == 3
    assert any("before" in line.render("en") for line in sentences(result))


def test_a_changed_number_is_reported(tmp_path: Path) -> None:
    before = write(tmp_path / "a", device="cuda", lr="0.1", read="pass")
    after = write(tmp_path / "b", device="npu", lr="0.2", read="pass")
    result = verify("python train.py", before, after)
    assert not result.same
    assert of_verification(result)[0].code == "NPU403"


def test_the_syncs_before_come_from_the_code_migrated_to_the_device_alone(tmp_path: Path) -> None:
    before = write(tmp_path / "a", device="cuda", lr="0.1", read="print(loss.item())")
    device = write(tmp_path / "b", device="npu", lr="0.1", read="loss.item()")
    after = write(tmp_path / "c", device="npu", lr="0.1", read="pass")
    result = verify("python train.py", before, after, device_only=device)
    assert result.differences, "a migration that stops printing is seen"
    numbers = as_dict(result)
    assert numbers["before"]["syncs"] - numbers["after"]["syncs"] == 3
    assert numbers["before_failed"] is None


def test_a_program_without_an_end_is_stopped_with_its_workers(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").write_text(
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))\ntime.sleep(600)\n"
    )
    begun = time.monotonic()
    result = verify("python train.py", tmp_path / "a", tmp_path / "a", timeout=15)
    assert time.monotonic() - begun < 60, "the other runs would only take the same time again"
    (finding,) = of_verification(result)
    assert finding.code == "NPU404"
    assert "15 s" in finding.params["error"]
    assert "--verify-timeout" in finding.fixes[0].note.en
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_original_that_fails_is_named_with_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").write_text("open('data/train.npz')\n")
    (finding,) = of_verification(verify("python train.py", tmp_path / "a", tmp_path / "a"))
    assert finding.code == "NPU404"
    assert "FileNotFoundError" in finding.params["error"]


def test_no_run_finds_the_checkpoint_of_another(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").write_text(
        "import os\nold = os.path.exists('model.pt')\nopen('model.pt', 'w').close()\n"
        "print('resumed', int(old))\nprint('saved', os.path.abspath('model.pt'))\n"
    )
    result = verify("python train.py", tmp_path / "a", tmp_path / "a")
    assert result.same, result
    assert result.noisy == 0
    assert result.original.lines == ("resumed 0", "saved ./model.pt")
    assert not (tmp_path / "a" / "model.pt").exists()


@pytest.mark.parametrize(("line", "left_out"), [
    ("|    time_elapsed    | 0        |", True), ("SPS: 900", True), ("took 3.5 sec", True),
    ("12 MB used", True), ("|    total_timesteps | 256      |", False), ("time_steps 4", False),
    ("emb 3", False), ("step 3", False),
])
def test_lines_that_name_a_speed_or_a_time_are_left_out(line: str, left_out: bool) -> None:
    assert bool(_SPEED_WORDS.search(line)) is left_out


def test_other_commands_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        verify("make train", tmp_path, tmp_path)


def test_a_command_with_an_open_quote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        verify("python 'train.py", tmp_path, tmp_path)
