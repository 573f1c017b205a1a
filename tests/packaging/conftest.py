"""The wheel as a stranger installs it: built from a copy of the tree, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

SKIPPED = shutil.ignore_patterns(".git", ".venv*", "*.egg-info", "build", "__pycache__", ".*_cache", ".demo")


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        (found,) = self.folder.glob("lib/python3*/site-packages")
        return found

    def env(self, **more: str) -> dict[str, str]:
        """Variables of a shell in which the environment is active."""
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "LANGUAGE")}
        return {**kept, "PATH": path, "LC_ALL": "C.UTF-8", "NPUDOCTOR_NO_STATE": "1", **more}

    def shell(
        self, script: str, shell: str = "bash", *, cwd: Path, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a script in a shell that finds the installed npudoctor."""
        return subprocess.run(
            [shell, "-c", script], cwd=cwd, env=self.env(**more), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel; building needs setuptools from the package index."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = shutil.copytree(ROOT, folder / "tree", ignore=SKIPPED)
    words = [sys.executable, "-m", "pip", "wheel", str(tree), "--no-deps", "-q", "-w", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if "Could not find a version" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a fresh environment; what it depends on is lent by the environment of the tests."""
    made = Installed(tmp_path_factory.mktemp("installed") / "venv")
    subprocess.run([sys.executable, "-m", "venv", str(made.folder)], check=True, timeout=120)
    subprocess.run(
        [str(made.python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)],
        check=True, timeout=120,
    )  # fmt: skip
    (made.site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return made
