"""The release of torch_npu to write for: asked for, pinned, installed, or the default."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from npudoctor import tables
from npudoctor.config import Config
from npudoctor.core.errors import UserError
from npudoctor.migrate.settings import DEFAULT_TORCH_NPU
from npudoctor.migrate.target import settings_for, target_for, unknown_since
from npudoctor.migrate.walk import walk
from tests.conftest import RunCli


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    installed: dict[str, str] = {}

    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    return installed


def target(root: Path, **config: str) -> tuple[str, str]:
    found = target_for(walk(root, Config(**config)), Config(**config))  # type: ignore[arg-type]
    return found.version, found.origin


def test_asked_for(tmp_path: Path) -> None:
    assert target(tmp_path, torch_npu="2.7.1.post2")[0] == "2.7.1.post2"
    with pytest.raises(UserError, match="not a version"):
        target(tmp_path, torch_npu="newest")


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("requirements.txt", "torch==2.4.0\n", "2.4.0"),
        ("requirements.txt", "torch==2.1.0\ntorch-npu==2.1.0.post8\n", "2.1.0.post8"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.5,<2.6"]\n', "2.5.1"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.6.0"\n', "2.6.0"),
        ("environment.yml", "dependencies:\n  - pytorch=2.3\n", "2.3.1"),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch==2.7.1\n", "2.7.1"),
        ("Dockerfile", "FROM x\nRUN pip install torch==2.8.0\n", "2.8.0"),
    ],
)
def test_pinned_by_the_project(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    (tmp_path / name).write_text(text)
    version, origin = target(tmp_path)
    assert version.startswith(wanted)
    assert origin.startswith(f"{name}: torch")


def test_what_pins_nothing_or_fits_nothing_is_no_reason(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch\ntorch>=1.0\ntorch==1.12\n")
    assert target(tmp_path) == (DEFAULT_TORCH_NPU, "")


def test_installed(tmp_path: Path, nothing_installed: dict[str, str]) -> None:
    nothing_installed["torch"] = "2.6.0+cpu"
    assert target(tmp_path)[0].startswith("2.6.0")
    nothing_installed["torch_npu"] = "2.5.1.post1+gitabc"
    assert target(tmp_path)[0] == "2.5.1.post1"


def test_the_rest_of_the_configuration_reaches_the_engine(tmp_path: Path) -> None:
    config = Config(style="portable", select=("NPU1",), ignore=("NPU105",), unsafe_fixes=True)
    settings, _ = settings_for(walk(tmp_path, config), config)
    assert (settings.style, settings.select, settings.ignore) == ("portable", ("NPU1",), ("NPU105",))
    assert settings.unsafe


def test_a_release_that_no_table_knows_is_said_to_be_unknown() -> None:
    date = tables.load("pairing").date
    assert unknown_since("9.9") == date
    assert unknown_since(DEFAULT_TORCH_NPU) == unknown_since("2.1.0.post17") == ""


@pytest.mark.parametrize(("version", "unknown"), [("9.9", True), ("2.7.1", False)])
def test_the_report_says_so(run_cli: RunCli, tmp_path: Path, version: str, unknown: bool) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(1).cuda()\n")
    said = run_cli("migrate", "--check", "--torch-npu", version, str(tmp_path)).stdout
    assert f"torch_npu {version}" in said
    assert ("is unknown to the table of" in " ".join(said.split())) == unknown
