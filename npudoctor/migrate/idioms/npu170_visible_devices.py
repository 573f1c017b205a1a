"""CUDA_VISIBLE_DEVICES in scripts and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found, swap

OLD, NEW = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"
_SOURCE = "https://github.com/Ascend/pytorch/blob/master/torch_npu/npu/__init__.py"
_DIGITS = re.compile(r"\d+(\s*,\s*\d+)*")

_RENAMED = Message(
    Text("{code}: an NPU process does not read CUDA_VISIBLE_DEVICES",
         "{code}：NPU 进程不读取 CUDA_VISIBLE_DEVICES"),
    Text("left as it is, the variable is ignored and the process sees every NPU of the machine",
         "若不修改，该变量会被忽略，进程将看到机器上的全部 NPU"),
    Text("use ASCEND_RT_VISIBLE_DEVICES", "改用 ASCEND_RT_VISIBLE_DEVICES"),
    sources=(_SOURCE,),
)
_VALUE = Message(
    Text("{code}: ASCEND_RT_VISIBLE_DEVICES takes ascending numbers only",
         "{code}：ASCEND_RT_VISIBLE_DEVICES 只接受升序编号"),
    Text("torch_npu counts zero devices for a list that is not ascending, repeats a number or names "
         "devices by "
         "UUID, so the variable was not renamed",
         "编号不是升序、有重复或以 UUID 表示时，torch_npu 会得到 0 个设备，因此未改名"),
    Text("choose the NPUs by ascending numbers and set ASCEND_RT_VISIBLE_DEVICES",
         "请以升序编号选择 NPU，并设置 ASCEND_RT_VISIBLE_DEVICES"),
    Severity.WARNING, (_SOURCE,),
)
_PORTABLE = Message(
    Text("{code}: only CUDA processes read this", "{code}：只有 CUDA 进程读取该变量"),
    Text("in the portable style the same settings still serve CUDA machines, so the variable was kept",
         "portable 风格下同一配置仍用于 CUDA 机器，因此保留该变量"),
    Text("on an NPU machine set ASCEND_RT_VISIBLE_DEVICES as well",
         "在 NPU 机器上请同时设置 ASCEND_RT_VISIBLE_DEVICES"),
    sources=(_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Rename the variable, unless a value says that the result would see no device."""
    set_here = [s for s in view.settings if s.key.text == OLD]
    words = [s.key for s in set_here] + [m for m in view.mentions if m.text == OLD]
    bad = next((s.value for s in set_here if s.path != ("default",) and not understood(s.value)), None)
    for word in words:
        if settings.portable:
            yield found(view, word, message=_PORTABLE)
        elif bad is None:
            yield found(view, word, swap(word, 0, None, NEW))
        else:
            shown = bad.part(0, len(bad.text))
            yield found(view, word, message=_VALUE, value=shown.text)


def understood(value: Word) -> bool:
    """Whether torch_npu reads `value` as CUDA would: unknown until run time, none, or ascending."""
    text = value.text.strip()
    if not value.literal or text in ("", "-1"):
        return True
    if not _DIGITS.fullmatch(text):
        return bool(re.search(r"[{<$%]", text))  # a placeholder of a template
    numbers = [int(n) for n in text.split(",")]
    return all(a < b for a, b in zip(numbers, numbers[1:]))


IDIOM = Idiom("NPU170", "visible-devices", _RENAMED, run)
