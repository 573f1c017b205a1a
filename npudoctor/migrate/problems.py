"""Findings about whole files: why one could not be read, or was left out or left as it is."""

from __future__ import annotations

from npudoctor.core.finding import Finding, Fix, Place, Severity
from npudoctor.core.text import Text
from npudoctor.migrate.api import Message

_NOT_READ = Message(
    Text("not read: {reason}", "未读取：{reason}"),
    Text("the file could not be opened, so whatever it holds was not migrated",
         "无法打开该文件，其中内容未迁移"),
    Text("give yourself read access and run again", "请授予读取权限后重新运行"),
    Severity.WARNING,
)
_NOT_TEXT = Message(
    Text("not text that can be edited: {reason}", "不是可编辑的文本：{reason}"),
    Text("the bytes do not decode in the encoding the file declares (or UTF-8), so Python would not load it "
         "either; nothing was changed",
         "文件字节无法按其声明的编码（或 UTF-8）解码，Python 同样无法加载；未作任何修改"),
    Text("if it is source code, declare its encoding on the first line (for example '# -*- coding: gbk -*-')",
         "如果它是源代码，请在首行声明编码（例如“# -*- coding: gbk -*-”）"),
    Severity.WARNING,
)
_TOO_LARGE = Message(
    Text("not looked at: larger than {limit}", "未检查：超过 {limit}"),
    Text("a file of this size holds data rather than code", "这种大小的文件通常是数据而不是代码"),
    Text("name the file itself after splitting it, or migrate it by hand", "请拆分该文件或手工迁移"),
    Severity.WARNING,
)
_LINK_OUT = Message(
    Text("a link that leads out of the tree was not followed", "未跟随指向目录树之外的链接"),
    Text("files outside the folder that was named are never changed", "指定文件夹之外的文件永远不会被修改"),
    Text("run npudoctor on the target if it is yours to change", "如目标归你所有，请对其单独运行"),
    Severity.NOTE,
)
_NOT_WRITTEN = Message(
    Text("not written: {reason}", "未写入：{reason}"),
    Text("the file would change but could not or must not be replaced, so it has its old bytes; files that "
         "rely on it may have changed",
         "该文件需要修改，但无法或不应替换，因此保持原样；依赖它的其他文件可能已被修改"),
    Text("make the file writable and run again", "请使该文件可写后重新运行"),
    Severity.WARNING,
)
_CRASHED = Message(
    Text("the analysis of this file failed: {reason}", "分析该文件时失败：{reason}"),
    Text("the process that looked at it died; the file is untouched and all others went on",
         "处理该文件的进程异常终止；文件未被改动，其他文件不受影响"),
    Text("please report the file; migrate it by hand meanwhile", "请反馈该文件，并暂时手工迁移"),
    Severity.ERROR,
)
_CUDA_SOURCE = Message(
    Text("CUDA source code", "CUDA 源代码"),
    Text("a kernel written in CUDA C++ cannot be compiled for an NPU and no tool translates it",
         "用 CUDA C++ 编写的算子无法为 NPU 编译，也没有工具可以转换"),
    Text("replace it by torch operations, or write an Ascend C operator",
         "请改用 torch 算子实现，或编写 Ascend C 自定义算子"),
    Severity.WARNING,
    ("https://gitee.com/ascend/samples/tree/master/operator",),
)
_GENERATED = Message(
    Text("generated file, left as it is", "生成的文件，保持原样"),
    Text("its header says that a program writes it ({reason}), so an edit would be lost",
         "文件头表明它由程序生成（{reason}），手工修改会丢失"),
    Text("change its source and generate it again", "请修改其来源并重新生成"),
    Severity.NOTE,
)

_CELL = Message(
    Text("notebook not migrated in full: {reason}", "Notebook 未完全迁移：{reason}"),
    Text("this part is not Python that can be read, so it was left as it is",
         "该部分不是可以读取的 Python，保持原样"),
    Text("mend the cell, or migrate it by hand", "请修正该单元格，或手工迁移"),
    Severity.WARNING,
)

UNITS = {
    "NPU190": ("file-not-read", _NOT_READ),
    "NPU191": ("file-not-text", _NOT_TEXT),
    "NPU192": ("file-too-large", _TOO_LARGE),
    "NPU193": ("link-out-of-tree", _LINK_OUT),
    "NPU194": ("file-not-written", _NOT_WRITTEN),
    "NPU195": ("file-analysis-failed", _CRASHED),
    "NPU196": ("cuda-source-file", _CUDA_SOURCE),
    "NPU197": ("generated-file", _GENERATED),
    "NPU198": ("notebook-not-read", _CELL),
}

# Titles for the reasons that we name ourselves; any other reason is the system's own message.
_TITLES = {
    "changed": Text("not written: it was changed while npudoctor worked",
                    "未写入：该文件在 npudoctor 工作期间被修改"),
    "changed-since": Text("not restored: it was changed after the migration",
                          "未恢复：该文件在迁移之后被修改过"),
    "read-only": Text("not written: it is read-only", "未写入：该文件为只读"),
    "owner": Text("not written: it belongs to another user", "未写入：该文件属于其他用户"),
    "denied": Text("not written: permission denied", "未写入：权限不足"),
    "link": Text("not written: it is reached through a link", "未写入：该文件经由链接到达"),
    "gone-since": Text("not restored: it no longer exists", "未恢复：该文件已不存在"),
    "gone": Text("not written: it no longer exists", "未写入：该文件已不存在"),
}

_BY_HAND = (
    Text("--undo never overwrites or brings back what you changed or deleted yourself",
         "--undo 不会覆盖您自己修改的文件，也不会恢复您自己删除的文件"),
    Text("if you want the original, copy it from .npudoctor/runs, where manifest.json names its copy",
         "如需原始内容，请从 .npudoctor/runs 中复制，manifest.json 注明了对应的副本"),
)
_AGAIN = (
    _NOT_WRITTEN.cause,
    Text("run again when nothing else works on the file", "请在没有其他程序改动该文件时重新运行"),
)
# Cause and what to do, where being writable is not the point.
_CAUSES = {"changed-since": _BY_HAND, "gone-since": _BY_HAND, "changed": _AGAIN, "gone": _AGAIN}


def problem(code: str, path: str, reason: str = "", **params: object) -> Finding:
    """The finding `code` about the file at `path`; `reason` is a word of ours or a system message."""
    slug, message = UNITS[code]
    title = _TITLES.get(reason, message.title) if code == "NPU194" else message.title
    cause, fix = message.cause, message.fix
    if code == "NPU194":
        cause, fix = _CAUSES.get(reason, (cause, fix))
    return Finding(
        code, slug, message.severity, title, cause, Place(path),
        {"reason": reason, **params}, fixes=(Fix(fix),), sources=message.sources,
    )
