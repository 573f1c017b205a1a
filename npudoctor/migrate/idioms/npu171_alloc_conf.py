"""PYTORCH_CUDA_ALLOC_CONF in scripts and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found, swap

OLD, NEW = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"
_SOURCE = (
    "https://github.com/Ascend/pytorch/blob/master/docs/zh/api/environment_variable/memory_management/"
    "PYTORCH_NPU_ALLOC_CONF.md"
)
# Options that both allocators know under one name, with one meaning.
SHARED = frozenset(
    {"max_split_size_mb", "garbage_collection_threshold", "expandable_segments", "roundup_power2_divisions"}
)
_OPTION = re.compile(r"(?:^|,)\s*([a-z_0-9]+)\s*:")

_RENAMED = Message(
    Text("{code}: the NPU allocator does not read PYTORCH_CUDA_ALLOC_CONF",
         "{code}：NPU 内存分配器不读取 PYTORCH_CUDA_ALLOC_CONF"),
    Text("left as it is, the options are silently ignored", "若不修改，这些选项会被静默忽略"),
    Text("use PYTORCH_NPU_ALLOC_CONF; its options here have the same names",
         "改用 PYTORCH_NPU_ALLOC_CONF，此处的选项名称相同"),
    sources=(_SOURCE,),
)
_OTHER = Message(
    Text("{code}: the NPU allocator has no option '{option}'", "{code}：NPU 内存分配器没有选项“{option}”"),
    Text("an unknown option stops the program, so the variable was not renamed",
         "未知选项会使程序退出，因此未改名"),
    Text("set PYTORCH_NPU_ALLOC_CONF with the options its page lists",
         "请按文档列出的选项设置 PYTORCH_NPU_ALLOC_CONF"),
    Severity.WARNING, (_SOURCE,),
)
_CLASH = Message(
    Text("{code}: expandable_segments excludes the other options here",
         "{code}：expandable_segments 与此处其他选项互斥"),
    Text("the NPU allocator refuses expandable_segments:True together with max_split_size_mb or "
         "garbage_collection_threshold",
         "NPU 内存分配器不允许 expandable_segments:True 与 max_split_size_mb 或 "
         "garbage_collection_threshold 同时使用"),
    Text("choose one of them and set PYTORCH_NPU_ALLOC_CONF", "请二者择一后设置 PYTORCH_NPU_ALLOC_CONF"),
    Severity.WARNING, (_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Rename the variable where every option in its value is shared."""
    if settings.portable:
        return
    here = [s for s in view.settings if s.key.text == OLD]
    for setting in here:
        yield _judge(view, setting.key, setting.value)
    if all(_problem(s.value) is None for s in here):
        for word in view.mentions:
            if word.text == OLD:
                yield found(view, word, swap(word, 0, None, NEW))


def _judge(view: View, key: Word, value: Word) -> Change:
    problem = _problem(value)
    if problem is None:
        return found(view, key, swap(key, 0, None, NEW))
    return found(view, key, message=_CLASH if problem == "clash" else _OTHER, option=problem)


def _problem(value: Word) -> str | None:
    """The option that stands in the way, `clash`, or None."""
    if not value.literal:
        return None
    plain = re.sub(r"\[[^\]]*\]", "", value.text)
    options = _OPTION.findall(plain)
    other = next((name for name in options if name not in SHARED), None)
    if other is not None:
        return str(other)
    expandable = re.search(r"expandable_segments\s*:\s*true", plain, re.IGNORECASE)
    excluded = {"max_split_size_mb", "garbage_collection_threshold"} & set(options)
    return "clash" if expandable and excluded else None


IDIOM = Idiom("NPU171", "alloc-conf", _RENAMED, run)
