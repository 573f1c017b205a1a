"""`--output DIR`: a migrated copy of the tree, complete or not there at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from npudoctor.core.errors import UserError
from npudoctor.core.text import Text
from npudoctor.migrate.tree import FileOutcome, TreeOutcome
from npudoctor.migrate.walk import shown
from npudoctor.migrate.writer import Refusal

_EXISTS = Text("{path} exists and is not an empty folder", "{path} 已存在且不是空文件夹")
_EXISTS_HINT = Text("name a folder that does not exist yet", "请指定一个尚不存在的文件夹")
_NO_WRITE = Text("cannot write {path}: {reason}", "无法写入 {path}：{reason}")
_SINGLE = Text("--output needs a folder as PATH, not a single file",
               "使用 --output 时 PATH 必须是文件夹，不能是单个文件")


def write(outcome: TreeOutcome, target: Path) -> tuple[Refusal, ...]:
    """Copy every file that git would keep, changed files with their new bytes.

    Links inside the tree stay links; links that lead out, devices and pipes are not copied.

    Args:
        outcome: of the tree.
        target: folder that does not exist yet, or is empty.

    Returns:
        Files that could not be copied.

    Raises:
        UserError: `target` exists, or cannot be written.
    """
    if outcome.tree.single:
        raise UserError(_SINGLE)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise UserError(_EXISTS, _EXISTS_HINT, {"path": shown(str(target))})
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            refused = _fill(outcome, staging)
            os.chmod(staging, outcome.tree.root.stat().st_mode & 0o7777)
            os.replace(staging, target)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
    except OSError as error:
        params = {"path": shown(str(target)), "reason": error.strerror or str(error)}
        raise UserError(_NO_WRITE, params=params) from None
    return refused


def to_run(root: Path, target: Path, changed: Iterable[FileOutcome] = ()) -> None:
    """A full copy of the tree in which its program can run: as it is, or with changes.

    Files that git ignores (data, checkpoints) are copied too, since a program may need them; links stay
    links, but a changed file is always written into its own copy.

    Args:
        root: of the tree.
        target: folder that does not exist yet.
        changed: files of the tree that get their new bytes.

    Raises:
        UserError: the copy cannot be written.
    """
    leave_out = shutil.ignore_patterns(".git", ".npudoctor", "__pycache__")
    try:
        shutil.copytree(root, target, symlinks=True, ignore=leave_out)
        for file in changed:
            place = target / file.entry.path
            place.unlink()
            place.write_bytes(file.after or b"")
            shutil.copystat(root / file.entry.path, place)
    except (OSError, shutil.Error) as error:
        params = {"path": shown(str(target)), "reason": getattr(error, "strerror", None) or str(error)}
        raise UserError(_NO_WRITE, params=params) from None


def _fill(outcome: TreeOutcome, staging: Path) -> tuple[Refusal, ...]:
    new = {file.entry.path: file.after for file in outcome.changed}
    refused = []
    for path in outcome.tree.all_files:
        source, target = outcome.tree.root / path, staging / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.is_symlink():
                os.symlink(os.readlink(source), target)
                continue
            data = new.get(path)
            if data is None:
                shutil.copyfile(source, target, follow_symlinks=False)
            else:
                target.write_bytes(data)
            shutil.copystat(source, target, follow_symlinks=False)
        except OSError as error:
            refused.append(Refusal(path, error.strerror or str(error)))
    return tuple(refused)
