"""Which files are looked at, and that a walk stays inside its tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npudoctor.config import Config
from npudoctor.core.errors import UserError
from npudoctor.migrate.walk import shown, walk


def tree(root: Path, *paths: str, **texts: str) -> Path:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.get(path, "x = 1\n"))
    return root


def paths(root: Path, **config: object) -> list[str]:
    return [entry.path for entry in walk(root, Config(**config)).entries]  # type: ignore[arg-type]


def skipped(root: Path, **config: object) -> dict[str, str]:
    return {s.path: s.reason for s in walk(root, Config(**config)).skipped}  # type: ignore[arg-type]


def test_kinds_by_name(tmp_path: Path) -> None:
    names = {
        "a.py": "python", "a.pyi": "python", "n.ipynb": "notebook", "r.sh": "shell", "Makefile": "shell",
        ".env": "shell", "Dockerfile": "dockerfile", "docker/Dockerfile.gpu": "dockerfile", "c.yml": "yaml",
        "p.toml": "toml", "l.json": "json", "s.cfg": "ini", "requirements-dev.txt": "requirements",
        "requirements/base.txt": "requirements", "k.cu": "cuda-source",
    }
    tree(tmp_path, *names, "notes.txt", "package-lock.json", "data.bin")
    assert {e.path: e.kind for e in walk(tmp_path, Config()).entries} == names


def test_a_script_without_suffix_is_known_by_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "go").write_text("#!/bin/bash\n")
    (tmp_path / "text").write_text("python\n")
    assert {e.path: e.kind for e in walk(tmp_path, Config()).entries} == {"train": "python", "go": "shell"}


def test_built_and_installed_folders_are_left_out_and_listed(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", ".git/hooks/x.py", "build/b.py", "x.egg-info/c.py", "env/pyvenv.cfg", "env/d.py",
         "node_modules/e.py", ".npudoctor/runs/f.py")
    assert paths(tmp_path) == ["a.py"]
    assert skipped(tmp_path) == dict.fromkeys(("build", "env", "node_modules", "x.egg-info"), "built")
    assert paths(tmp_path, include=("build/**",)) == ["a.py", "build/b.py"]


def test_gitignore_of_every_level_counts(tmp_path: Path) -> None:
    tree(tmp_path, "repo/.git/HEAD", "repo/a.py", "repo/out/b.py", "repo/sub/c.py", "repo/sub/d.py")
    tree(tmp_path, "repo/e_gen.py")
    (tmp_path / "repo/.gitignore").write_text("out/\n*_gen.py\n[bad\n")
    (tmp_path / "repo/sub/.gitignore").write_text("c.py\n!e_gen.py\n")
    (tmp_path / "repo/.git/info").mkdir()
    (tmp_path / "repo/.git/info/exclude").write_text("a.py\n")
    tree(tmp_path, "repo/sub/e_gen.py")
    assert paths(tmp_path / "repo") == ["sub/d.py", "sub/e_gen.py"]
    assert paths(tmp_path / "repo" / "sub") == ["d.py", "e_gen.py"]
    assert paths(tmp_path / "repo", include=("/out/b.py",)) == ["out/b.py", "sub/d.py", "sub/e_gen.py"]
    assert skipped(tmp_path / "repo")["out"] == "ignored"


def test_exclude_wins(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "tests/b.py", "tests/data/c.py")
    assert paths(tmp_path, exclude=("tests/",)) == ["a.py"]
    assert paths(tmp_path, exclude=("tests/",), include=("tests/b.py",)) == ["a.py"]
    assert paths(tmp_path, exclude=("b.py",)) == ["a.py", "tests/data/c.py"]


def test_links_are_never_followed(tmp_path: Path) -> None:
    tree(tmp_path, "outside/secret.py", "repo/a.py")
    repo = tmp_path / "repo"
    (repo / "out.py").symlink_to(tmp_path / "outside/secret.py")
    (repo / "folder").symlink_to(tmp_path / "outside")
    (repo / "in.py").symlink_to("a.py")
    (repo / "broken.py").symlink_to("nowhere.py")
    (repo / "loop").symlink_to(repo)
    found = walk(repo, Config())
    assert [e.path for e in found.entries] == ["a.py"]
    reasons = {s.path: s.reason for s in found.skipped}
    assert reasons == {"out.py": "link-out", "in.py": "link", "broken.py": "link"}
    assert found.all_files == ["a.py", "broken.py", "in.py"]


def test_the_named_path_itself_may_be_a_link(tmp_path: Path) -> None:
    tree(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to("real")
    assert paths(tmp_path / "link") == ["a.py"]
    assert walk(tmp_path / "link", Config()).root == tmp_path / "real"


def test_pipes_and_huge_files_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "big.py").open("wb") as stream:
        stream.truncate(100 << 20)
    assert paths(tmp_path) == []
    assert skipped(tmp_path) == {"pipe.py": "special", "big.py": "large"}


def test_strange_names(tmp_path: Path) -> None:
    names = ["with space.py", "中文.py", "new\nline.py", "[red]x.py", "-rf.py", "esc\x1b[31m.py"]
    for name in names:
        (tmp_path / name).write_text("x = 1\n")
    (tmp_path / os.fsdecode(b"bad\xff.py")).write_text("x = 1\n")
    found = paths(tmp_path)
    assert set(names) < set(found)
    assert len(found) == 7
    assert shown("new\nline\x1b\udcff中.py") == "new\\nline\\x1b\\xff中.py"


def test_a_very_deep_tree(tmp_path: Path) -> None:
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(300):
            os.mkdir("dd")
            os.chdir("dd")
    finally:
        os.chdir(here)
    assert paths(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_listed(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "locked/b.py")
    (tmp_path / "locked").chmod(0)
    try:
        assert skipped(tmp_path) == {"locked": "unreadable"}
    finally:
        (tmp_path / "locked").chmod(0o755)


def test_a_single_file(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.txt")
    found = walk(tmp_path / "a.py", Config())
    assert (found.root, [e.path for e in found.entries], found.single) == (tmp_path, ["a.py"], True)
    with pytest.raises(UserError, match="not a file that npudoctor can migrate"):
        walk(tmp_path / "b.txt", Config())


def test_the_backup_itself_is_never_migrated(tmp_path: Path) -> None:
    tree(tmp_path, ".npudoctor/runs/1/before/a.py")
    with pytest.raises(UserError, match="own backup"):
        walk(tmp_path / ".npudoctor" / "runs", Config())


def test_unknown_paths(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    tree(tmp_path, "a.py")
    for path in ("nowhere", "loop", "a.py/b"):
        with pytest.raises(UserError):
            walk(tmp_path / path, Config())
