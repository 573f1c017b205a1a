"""Errors that end a command with one clear sentence instead of a traceback."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from npudoctor.core.text import Text, verbatim

_CANNOT_READ = Text("cannot read {path}: {reason}", "无法读取 {path}：{reason}")
_CANNOT_WRITE = Text("cannot write {path}: {reason}", "无法写入 {path}：{reason}")

# The system's own words come in English; these are the ones that people meet.
_REASONS_ZH = {
    errno.ENOENT: "文件或目录不存在",
    errno.ENOTDIR: "路径中有一部分不是目录",
    errno.EISDIR: "是一个目录",
    errno.EEXIST: "已存在",
    errno.EACCES: "权限不足",
    errno.EPERM: "操作不被允许",
    errno.EROFS: "文件系统为只读",
    errno.ENOSPC: "磁盘空间不足",
    errno.EDQUOT: "超出磁盘配额",
    errno.ENAMETOOLONG: "文件名过长",
    errno.ELOOP: "符号链接层数过多",
    errno.EBUSY: "设备或资源被占用",
    errno.EIO: "读写错误",
    errno.EMFILE: "打开的文件过多",
    errno.ENOEXEC: "无法执行的文件格式",
    errno.ENXIO: "没有这样的设备或地址",
}


class UserError(Exception):
    """The input, the configuration or the environment does not allow the command.

    Args:
        sentence: what is wrong, one sentence.
        hint: what to do about it, one sentence.
        params: values for the named parameters of both.
    """

    def __init__(
        self,
        sentence: Text,
        hint: Text | None = None,
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(sentence.render("en", params))
        self.sentence = sentence
        self.hint = hint
        self.params = dict(params or {})


def reason(error: OSError) -> Text:
    """Why the system refused, as the end of a sentence."""
    words = error.strerror or first_line(error)
    return verbatim(words, _REASONS_ZH.get(error.errno or 0))


def cannot_read(path: object, error: OSError) -> UserError:
    """The error of a file or folder that the user named and that cannot be read."""
    return UserError(_CANNOT_READ, params={"path": path, "reason": reason(error)})


def cannot_write(path: object, error: OSError) -> UserError:
    """The error of a place that the user named and that cannot be written."""
    return UserError(_CANNOT_WRITE, params={"path": path, "reason": reason(error)})


def first_line(error: Exception) -> str:
    """The first line that another library's error says, or its kind where it says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
