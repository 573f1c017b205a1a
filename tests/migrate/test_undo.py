"""`--undo` as a report: which backups count for a path, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.core.exits import Exit
from npudoctor.migrate import undo, writer
from npudoctor.migrate.journal import sha256
from npudoctor.migrate.walk import STATE_FOLDER


def change(root: Path, path: str) -> None:
    old = (root / path).read_bytes()
    assert writer.apply(root, [writer.Replacement(path, sha256(old), b"new")]).done == (path,)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for name in ("one/a.py", "one/deep/b.py", "two/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old")
    return tmp_path


def texts(repo: Path) -> list[str]:
    return [p.read_text() for p in sorted(repo.rglob("*.py"))]


def test_the_backup_of_a_folder_above_counts(repo: Path) -> None:
    change(repo, "one/deep/b.py")
    change(repo, "two/c.py")
    report = undo.report(repo / "one")
    assert report.extra["restored"] == ["one/deep/b.py"]
    assert texts(repo) == ["old", "old", "new"]
    assert undo.report(repo / "two" / "c.py").exit_code() is Exit.OK
    assert not (repo / STATE_FOLDER).exists()


def test_backups_of_folders_below_count(repo: Path) -> None:
    change(repo / "one", "deep/b.py")
    change(repo / "two", "c.py")
    assert len(undo.report(repo).extra["restored"]) == 2  # type: ignore[arg-type]
    assert texts(repo) == ["old"] * 3
    assert not list(repo.rglob(STATE_FOLDER))


def test_a_file_changed_since_is_named(repo: Path) -> None:
    change(repo, "one/a.py")
    (repo / "one/a.py").write_text("mine")
    report = undo.report(repo)
    assert report.exit_code() is Exit.FINDINGS
    (finding,) = report.findings
    assert "changed after the migration" in finding.title.en
    assert STATE_FOLDER in report.verdict.render("en", report.params)
    assert (repo / "one/a.py").read_text() == "mine"
    assert ".npudoctor/runs" in finding.fixes[0].note.en
    assert "writable" not in finding.fixes[0].note.en


def test_a_file_deleted_since_is_not_said_to_be_unwritable(repo: Path) -> None:
    change(repo, "one/a.py")
    (repo / "one/a.py").unlink()
    (finding,) = undo.report(repo).findings
    assert finding.title.en.startswith("not restored")
    assert ".npudoctor/runs" in finding.fixes[0].note.en


def test_nothing_to_undo(repo: Path) -> None:
    with pytest.raises(UserError, match="no migration to undo"):
        undo.report(repo)
    with pytest.raises(UserError, match="does not exist"):
        undo.report(repo / "three")
    change(repo, "one/a.py")
    with pytest.raises(UserError, match="no migration to undo"):
        undo.report(repo / "two")


@pytest.mark.parametrize("left", [(), ("lock",), (".gitignore",), (".gitignore", "lock")])
def test_what_a_killed_process_left_is_cleared(repo: Path, left: tuple[str, ...]) -> None:
    (repo / STATE_FOLDER).mkdir()
    for name in left:
        (repo / STATE_FOLDER / name).write_text("")
    with pytest.raises(UserError):
        undo.report(repo)
    assert not (repo / STATE_FOLDER).exists()


def test_a_folder_of_that_name_with_anything_else_in_it_stays(repo: Path) -> None:
    (repo / STATE_FOLDER).mkdir()
    (repo / STATE_FOLDER / "notes.txt").write_text("mine")
    with pytest.raises(UserError):
        undo.report(repo)
    assert (repo / STATE_FOLDER / "notes.txt").read_text() == "mine"
