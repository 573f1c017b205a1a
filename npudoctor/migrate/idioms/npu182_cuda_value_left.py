"""A CUDA device value in a place where nobody can be sure what reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found
from npudoctor.migrate.idioms.devices import VALUE, is_device_name, is_other_device

_MESSAGE = Message(
    Text("{key}: {code} was left as it is", "{key}：{code} 保持原样"),
    Text("the value names a CUDA device, but its name does not say that torch reads it",
         "该值为 CUDA 设备，但从名称无法确定由 torch 读取"),
    Text("if the program hands it to torch, change it to npu", "若程序将其交给 torch，请改为 npu"),
    Severity.WARNING,
    ("https://docs.pytorch.org/docs/stable/tensor_attributes.html",),
)
_SIMULATOR = Message(
    Text("{key}: {code} is the device of a simulator or renderer", "{key}：{code} 是仿真器或渲染器的设备"),
    Text("GPU simulators run on NVIDIA hardware only; on an NPU machine the simulation runs on the CPU",
         "GPU 仿真器只能运行在 NVIDIA 硬件上；在 NPU 机器上仿真需在 CPU 上运行"),
    Text("set it to cpu if the simulator has a CPU pipeline, and move each batch once",
         "若仿真器支持 CPU 流水线，请设为 cpu，并逐批一次性搬运数据"),
    Severity.WARNING,
    ("https://github.com/RLinf/RLinf/pull/742",),
)
# Names for people: what they hold is compared with nothing.
_LABELS = frozenset(
    ("name", "id", "title", "description", "label", "tag", "tags", "group", "project", "notes")
)
_INSIDE = re.compile(r"(?<![\w/.-])cuda(:\d+)?(?![\w/.-])")


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report what the other idioms do not touch."""
    words = {word.span() for command in view.commands for word in command.words}
    for setting in view.settings:
        key, value = setting.key.text, setting.value
        if value.span() in words or key.lower() in _LABELS:
            continue
        if VALUE.fullmatch(value.text):
            if is_other_device(key):
                yield found(view, value, message=_SIMULATOR, key=key)
            elif not is_device_name(key):
                yield found(view, value, key=key)
        elif is_device_name(key) and _INSIDE.search(value.text):
            yield found(view, value, key=key)


IDIOM = Idiom("NPU182", "cuda-value-left", _MESSAGE, run)
