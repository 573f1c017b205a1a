"""The Dockerfiles of docs/examples: instructions are read, paths exist, pip lines resolve, entries run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.packaging.conftest import SKIPPED, Installed
from tests.packaging.test_wheel import extras_of, known_extras

FILES = sorted((ROOT / "docs" / "examples" / "docker").glob("*.Dockerfile"))
KNOWN = {"ARG", "FROM", "COPY", "RUN", "WORKDIR", "ENTRYPOINT", "CMD", "ENV"}


def instructions(path: Path) -> list[tuple[str, str]]:
    """(word, rest) of each instruction, continuation lines joined, comments left out."""
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_there_is_one_for_each_machine() -> None:
    assert [p.stem for p in FILES] == ["ascend", "laptop"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_instructions(path: Path) -> None:
    words = instructions(path)
    assert {word for word, _ in words} <= KNOWN
    assert next(word for word, _ in words if word != "ARG") == "FROM"
    arguments = {rest.partition("=")[0] for word, rest in words if word == "ARG"}
    for word, rest in words:
        if word == "FROM":
            assert set(re.findall(r"\$\{(\w+)\}", rest)) <= arguments
        if word == "COPY":
            source, target = rest.split()
            assert (ROOT / source).exists()
            assert target.startswith("/")
        if word in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(part, str) for part in json.loads(rest))


def test_what_was_built_here_is_not_copied_into_an_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv*", "build", "dist"} <= set(ignored)
    sent = ("npudoctor", "reference_ppo", "pyproject.toml", "constraints.txt", "README.md", "LICENSE")
    assert not [name for name in sent if any(Path(name).match(pattern) for pattern in ignored)]


def test_the_base_image_is_one_that_the_table_knows() -> None:
    from npudoctor.pairing.install import CANN_IMAGE
    from npudoctor.pairing.table import load

    (base,) = (rest for word, rest in instructions(FILES[0]) if word == "ARG")
    name, _, tag = base.partition("=")[2].rpartition(":")
    assert name == CANN_IMAGE
    release, chip, system, python = tag.split("-")
    known = load().images_for(release, chip)
    assert any((i.tag, i.os, f"py{p}") == (release, system, python) for i in known for p in i.python)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_pip_lines_resolve_in_the_tree(path: Path) -> None:
    """What is copied is installable under that name, with these extras and constraints."""
    (target,) = {rest.split()[1] for word, rest in instructions(path) if word == "COPY"}
    for line in (rest for word, rest in instructions(path) if word == "RUN"):
        words = shlex.split(line.replace(target, str(ROOT)))
        assert words[words.index("pip") + 1] == "install"
        assert extras_of(line.replace(target, "npudoctor")) <= known_extras()
        rest = words[words.index("install") + 1 :]
        dry = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-build-isolation", "-q"]
        done = subprocess.run(
            [*dry, *(w for w in rest if w != "--no-cache-dir")],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        if "Cannot import 'setuptools" in done.stderr or "No module named 'setuptools" in done.stderr:
            pytest.skip("setuptools is not installed here")
        assert done.returncode == 0, done.stderr
        assert "does not provide the extra" not in done.stderr


def test_the_laptop_image_gets_the_cpu_build_of_the_pinned_torch() -> None:
    """In one line with the rest: another torch before it would give way to the pinned one, a CUDA build."""
    from npudoctor.pairing.install import CPU_INDEX

    (line,) = (rest for word, rest in instructions(FILES[1]) if word == "RUN")
    words = shlex.split(line)
    assert words[words.index("--extra-index-url") + 1] == CPU_INDEX
    constraints = ROOT / Path(words[words.index("-c") + 1]).relative_to("/opt/npudoctor")
    assert re.search(r"^torch==[\d.]+$", constraints.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_pip_line_of_the_ascend_image_installs_the_core(tmp_path: Path) -> None:
    """In a fresh environment: neither torch nor torch_npu comes with it, so those of the image stay."""
    (line,) = (rest for word, rest in instructions(FILES[0]) if word == "RUN")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    python = str(tmp_path / "venv" / "bin" / "python")
    tree = shutil.copytree(ROOT, tmp_path / "tree", ignore=SKIPPED)
    words = shlex.split(line.replace("python3", python).replace("/opt/npudoctor", str(tree)))
    done = subprocess.run([*words, "-q"], capture_output=True, text=True, timeout=300, check=False)
    if "Could not find a version" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    listed = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "npudoctor" in listed
    assert "torch" not in listed


def test_the_entry_of_the_ascend_image_runs(installed: Installed, tmp_path: Path) -> None:
    """Its shell line passes arguments on, with no set_env.sh and with one that is sourced."""
    (entry,) = (json.loads(rest) for word, rest in instructions(FILES[0]) if word == "ENTRYPOINT")
    toolkit = tmp_path / "cann"
    toolkit.mkdir()
    (toolkit / "set_env.sh").write_text("export SOURCED=yes\n")
    line = entry[2].replace("/usr/local/Ascend/cann", str(toolkit))
    line = line.replace("exec npudoctor", "echo $SOURCED; exec npudoctor")
    words = [entry[0], "-c", line, *entry[3:], "--version"]
    done = subprocess.run(words, env=installed.env(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("yes\nnpudoctor")
