"""The installed wheel: it runs from anywhere, brings its data, and its types reach other people's code."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT
from tests.packaging.conftest import Installed


def test_everything_that_is_data_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    endings = {".tsv", ".toml", ".json", ".j2", ".typed"}
    data = [p for p in (ROOT / "npudoctor").rglob("*") if p.is_file() and p.suffix in endings]
    assert len(data) > 40
    assert not [p for p in data if str(p.relative_to(ROOT)) not in names]
    assert not [n for n in names if n.startswith(("tests/", "fixtures/", "benchmarks/"))]


def test_runs_from_anywhere(installed: Installed, tmp_path: Path) -> None:
    script = "npudoctor --version && npudoctor check --json --exit-zero && npudoctor pair --json --exit-zero"
    done = installed.shell(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "npudoctor.report/1" in done.stdout
    where = installed.shell("python -c 'import npudoctor; print(npudoctor.__file__)'", cwd=tmp_path).stdout
    assert where.startswith(str(installed.folder)), "not the working tree"


USER_CODE = """
from __future__ import annotations

from pathlib import Path

from npudoctor.check.engine import diagnose
from npudoctor.check.run import facts_of
from npudoctor.core.report import Report
from npudoctor.machine import bundle
from npudoctor.pairing.table import load
from reference_ppo.config import Config


def codes(path: Path) -> list[str]:
    return [finding.code for finding in diagnose(facts_of(bundle.load(path)), load()).findings]


def verdict(report: Report) -> str:
    return report.verdict.render("en", report.params)


steps: int = Config().total_steps
wrong: str = Config().total_steps
"""


def test_types_reach_code_that_uses_the_wheel(installed: Installed, tmp_path: Path) -> None:
    """Strict mypy sees the annotations (py.typed), and only the planted mistake is one."""
    pytest.importorskip("mypy")
    (tmp_path / "mine.py").write_text(USER_CODE)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed.python)]
    done = subprocess.run(
        [*mypy, "mine.py"], cwd=tmp_path, env=installed.env(), capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert "Incompatible types in assignment" in errors[0]


def test_the_hook_stops_cuda_code_and_lets_the_rest_pass(installed: Installed, tmp_path: Path) -> None:
    """The entry of .pre-commit-hooks.yaml, as pre-commit runs it, on a repository of two files."""
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    assert {"python", "jupyter", "shell", "dockerfile", "yaml", "json"} <= set(hook["types_or"])
    entry = " ".join([hook["entry"], *hook["args"]])
    (tmp_path / "clean.py").write_text("import torch\n\nx = torch.ones(2)\n")
    git = "git init -q . && git add -A && "
    assert installed.shell(git + entry, cwd=tmp_path).returncode == 0
    (tmp_path / "cuda.py").write_text("import torch\n\nx = torch.ones(2).cuda()\n")
    stopped = installed.shell(git + entry, cwd=tmp_path)
    assert stopped.returncode == 1
    assert "+++ b/cuda.py" in stopped.stdout
    assert "+x = torch.ones(2).npu()" in stopped.stdout
    assert (tmp_path / "cuda.py").read_text().endswith(".cuda()\n"), "nothing is changed"


TRAPS = "torch torch_npu numpy json click rich npudoctor sitecustomize setup conftest".split()


@pytest.mark.parametrize(
    "command", ["migrate .", "migrate --check .", "check", "pair", "explain NPU501", "container", ""]
)
def test_no_file_of_the_folder_runs(command: str, installed: Installed, tmp_path: Path) -> None:
    """A repository may hold a `torch.py`: in its folder neither a command nor a child of it imports that."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    done = installed.shell(f"npudoctor {command}", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_the_steps_of_the_action(installed: Installed, tmp_path: Path) -> None:
    """What the example workflow runs; installing is checked by name, everything else is run."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "docs" / "examples" / "github-action.yml").read_text())
    assert set(action["jobs"]) == {"migrate", "simulate"}
    ran = []
    for job in action["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert "@v" in step["uses"], "a pinned release"
            elif step["run"].startswith("pip install"):
                _installable(step["run"])
            else:
                ran.append(_run(installed, step["run"], tmp_path))
    assert [done.returncode for done in ran] == [1, 0]
    assert "::warning file=" in ran[0].stdout or "::error file=" in ran[0].stdout


def _run(installed: Installed, script: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    import shutil

    tree = tmp_path / "checkout"
    if not tree.exists():
        shutil.copytree(FIXTURES / "cuda_ppo", tree)
    return installed.shell(script, cwd=tree, GITHUB_ACTIONS="true")


def _installable(line: str) -> None:
    """Each npudoctor[extra] exists, and torch comes from the index of CPU builds."""
    from npudoctor.pairing.install import CPU_INDEX

    if "torch" in line:
        assert line.endswith(f"--index-url {CPU_INDEX}")
    else:
        assert extras_of(line) <= known_extras()


def extras_of(line: str) -> set[str]:
    """`a`, `b` of a line with `npudoctor[a,b]`."""
    inside = line.partition("npudoctor[")[2].partition("]")[0]
    return {name for name in inside.split(",") if name}


def known_extras() -> set[str]:
    """The optional dependencies of pyproject.toml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])
