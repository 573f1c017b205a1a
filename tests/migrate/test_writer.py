"""Files are replaced so that every byte can be taken back, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest

from npudoctor.core.errors import UserError
from npudoctor.migrate import journal, writer
from npudoctor.migrate.journal import sha256
from npudoctor.migrate.walk import STATE_FOLDER
from npudoctor.migrate.writer import Refusal, Replacement


def replacement(root: Path, path: str, new: bytes) -> Replacement:
    return Replacement(path, sha256((root / path).read_bytes()), new)


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    files = [p for p in root.rglob("*") if p.is_file()]
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mode) for p in files}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "sub/b.py", "sub/中 文.py"):
        (tmp_path / name).write_bytes(f"old {name}\r\n".encode())
    (tmp_path / "a.py").chmod(0o755)
    return tmp_path


def test_apply_then_undo_leaves_no_trace(root: Path) -> None:
    before = snapshot(root)
    names = sorted(before)
    written = writer.apply(root, [replacement(root, n, b"new " + n.encode()) for n in names])
    assert written == writer.Written(tuple(names), ())
    assert all((root / n).read_bytes() == b"new " + n.encode() for n in names)
    assert stat.S_IMODE((root / "a.py").stat().st_mode) == 0o755
    assert (root / STATE_FOLDER / ".gitignore").read_text() == "*\n"
    assert set(os.listdir(root)) == {"a.py", "sub", STATE_FOLDER}
    assert writer.undo(root).done == tuple(names)
    assert snapshot(root) == before
    assert not (root / STATE_FOLDER).exists()


def test_undo_goes_back_through_every_run(root: Path) -> None:
    before = snapshot(root)
    for text in (b"one", b"two", b"three"):
        writer.apply(root, [replacement(root, "a.py", text)])
    writer.apply(root, [replacement(root, "sub/b.py", b"four")])
    assert set(writer.undo(root).done) == {"a.py", "sub/b.py"}
    assert snapshot(root) == before


def test_undo_of_a_part(root: Path) -> None:
    before = snapshot(root)
    writer.apply(root, [replacement(root, n, b"new") for n in before])
    assert writer.undo(root, "sub").done == ("sub/b.py", "sub/中 文.py")
    assert (root / "a.py").read_bytes() == b"new"
    assert writer.undo(root, "a.py").done == ("a.py",)
    assert snapshot(root) == before


def test_a_file_changed_since_is_kept_and_its_original_too(root: Path) -> None:
    original = (root / "a.py").read_bytes()
    writer.apply(root, [replacement(root, "a.py", b"new"), replacement(root, "sub/b.py", b"new")])
    (root / "a.py").write_bytes(b"mine")
    undone = writer.undo(root)
    assert undone.done == ("sub/b.py",)
    assert undone.refused == (Refusal("a.py", "changed"),)
    assert (root / "a.py").read_bytes() == b"mine"
    (run,) = journal.runs(root)
    assert run.original(run.records[0]) == original
    (root / "a.py").write_bytes(b"new")
    assert writer.undo(root).done == ("a.py",)


def test_what_must_not_be_written_is_refused_and_the_rest_goes_on(root: Path) -> None:
    (root / "read_only.py").write_bytes(b"x")
    (root / "read_only.py").chmod(0o444)
    items = [
        replacement(root, "a.py", b"new"), replacement(root, "read_only.py", b"new"),
        Replacement("sub/b.py", "0" * 64, b"new"), Replacement("gone.py", "0" * 64, b"new"),
    ]
    written = writer.apply(root, items)
    assert written.done == ("a.py",)
    assert {r.path: r.reason for r in written.refused} == {
        "read_only.py": "read-only", "sub/b.py": "changed", "gone.py": "gone",
    }
    assert (root / "read_only.py").read_bytes() == b"x"


def test_nothing_to_write_leaves_nothing(root: Path) -> None:
    writer.apply(root, [])
    writer.apply(root, [Replacement("gone.py", "0" * 64, b"new")])
    assert not (root / STATE_FOLDER).exists()


def test_links_are_never_written_through(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "b.py").write_bytes(b"secret")
    (root / "link.py").symlink_to(outside / "b.py")
    (root / "linked").symlink_to(outside)
    items = [Replacement(p, sha256(b"secret"), b"new") for p in ("link.py", "linked/b.py")]
    assert [r.reason for r in writer.apply(root, items).refused] == ["link", "link"]
    assert (outside / "b.py").read_bytes() == b"secret"


def test_a_hard_link_outside_keeps_its_bytes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("outside") / "same.py"
    os.link(root / "a.py", other)
    old = other.read_bytes()
    writer.apply(root, [replacement(root, "a.py", b"new")])
    assert other.read_bytes() == old


@pytest.mark.parametrize(
    "path", ["../victim.py", "/etc/passwd", "a/../../victim.py", ".git/config", ".", "a\0b"]
)
def test_a_manifest_from_a_stranger_cannot_reach_out(root: Path, path: str) -> None:
    victim = root.parent / "victim.py"
    victim.write_bytes(b"old")
    run = root / STATE_FOLDER / "runs" / "20200101T000000Z-0"
    (run / "before").mkdir(parents=True)
    (run / "before" / sha256(b"evil")).write_bytes(b"evil")
    record = {"path": path, "before": sha256(b"evil"), "after": sha256(b"old")}
    (run / "manifest.json").write_text(json.dumps({"schema": journal.SCHEMA, "files": [record]}))
    with pytest.raises(UserError, match="damaged"):
        writer.undo(root)
    assert victim.read_bytes() == b"old"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": [1]}', '{"files": [{"path": 1}]}', "[" * 100000])
def test_a_damaged_manifest_is_one_sentence(root: Path, text: str) -> None:
    run = root / STATE_FOLDER / "runs" / "1"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text(text)
    with pytest.raises(UserError, match="damaged"):
        writer.undo(root)


def test_a_damaged_backup_is_noticed(root: Path) -> None:
    writer.apply(root, [replacement(root, "a.py", b"new")])
    (blob,) = (root / STATE_FOLDER / "runs").glob("*/before/*")
    blob.write_bytes(b"something else")
    with pytest.raises(UserError, match="damaged"):
        writer.undo(root)
    assert (root / "a.py").read_bytes() == b"new"


@pytest.mark.parametrize("what", ["file", "link", "runs link"])
def test_a_state_folder_that_is_not_ours_is_refused(
    root: Path, what: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    state = root / STATE_FOLDER
    if what == "file":
        state.write_text("mine")
    elif what == "link":
        state.symlink_to(outside)
    else:
        state.mkdir()
        (state / "runs").symlink_to(outside)
    with pytest.raises(UserError, match="nothing was changed"):
        writer.apply(root, [replacement(root, "a.py", b"new")])
    assert list(outside.iterdir()) == []
    assert (root / "a.py").read_bytes().startswith(b"old")


def test_two_at_a_time_are_refused(root: Path) -> None:
    with journal.locked(root, create=True), pytest.raises(UserError, match="another"):
        writer.apply(root, [replacement(root, "a.py", b"new")])


def test_a_full_disk_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(root)

    def full(folder: Path, data: bytes) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "keep", full)
    with pytest.raises(UserError, match="No space left"):
        writer.apply(root, [replacement(root, "a.py", b"new")])
    monkeypatch.undo()
    assert snapshot(root) == before
    writer.apply(root, [replacement(root, "a.py", b"new")])
    writer.undo(root)
    assert snapshot(root) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_are_kept(root: Path) -> None:
    os.chown(root / "a.py", 12345, 54321)
    os.chmod(root / "a.py", 0o4750)
    writer.apply(root, [replacement(root, "a.py", b"new")])
    status = (root / "a.py").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 54321, 0o4750)


def test_killed_at_any_moment(root: Path) -> None:
    """SIGKILL: each file is old or new, and undo brings every old byte back."""
    files = {f"sub/f{i:02d}.py": os.urandom(2000 + i) for i in range(20)}
    for name, data in files.items():
        (root / name).write_bytes(data)
    before = snapshot(root)
    rng = random.Random(7)
    started = time.monotonic()
    _killed(root, files, None)
    longest = time.monotonic() - started
    outcomes = set()
    for _ in range(int(os.environ.get("NPUDOCTOR_KILLS", "10"))):
        _killed(root, files, rng.uniform(0, longest))
        new = sum((root / name).read_bytes() != data for name, data in files.items())
        outcomes.add(new)
        for name, data in files.items():
            assert (root / name).read_bytes() in (data, data[::-1])
        assert [p.name for p in (root / "sub").iterdir() if not p.name.endswith(".py")] == []
        if writer.find_root(root):
            writer.undo(root)
        assert {k: v for k, v in snapshot(root).items() if STATE_FOLDER not in k} == before
        assert not list((root / STATE_FOLDER).glob("runs/*"))
    assert len(outcomes) > 1, "every kill came too early or too late to test anything"


def _killed(root: Path, files: dict[str, bytes], after: float | None) -> None:
    """Apply in a child, and kill it after so many seconds (None: let it finish, then undo)."""
    items = [Replacement(name, sha256(data), data[::-1]) for name, data in files.items()]
    child = os.fork()
    if child == 0:
        try:
            writer.apply(root, items)
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if after is None:
        writer.undo(root)
