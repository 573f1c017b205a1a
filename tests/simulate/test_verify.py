"""`verify` end to end on a small CUDA program: same numbers pass, a changed one is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.simulate.verify import verify
from npudoctor.simulate.verify_report import as_dict, findings, sentences

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
    assert findings(result) == ()
    assert result.compared["weights"] == 2
    assert result.before is not None
    numbers = as_dict(result)
    assert numbers["before"]["syncs"] - numbers["after"]["syncs"] == 3
    assert any("before" in line for line in sentences(result))


def test_a_changed_number_is_reported(tmp_path: Path) -> None:
    before = write(tmp_path / "a", device="cuda", lr="0.1", read="pass")
    after = write(tmp_path / "b", device="npu", lr="0.2", read="pass")
    result = verify("python train.py", before, after)
    assert not result.same
    assert findings(result)[0].code == "NPU403"


def test_other_commands_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        verify("make train", tmp_path, tmp_path)
