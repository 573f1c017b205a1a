"""`device: cuda` in configuration files, DEVICE=cuda in scripts."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found, swap
from npudoctor.migrate.idioms.devices import VALUE, is_device_name

_SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
_DEVICE = Message(
    Text("{key} is set to {code}", "{key} 设置为 {code}"),
    Text("a migrated program that reads this setting finds no such device, and code that compares it with "
         "'npu' takes the other branch",
         "迁移后的程序读取该设置时找不到该设备，与“npu”比较的代码会走另一分支"),
    Text("set it to npu", "改为 npu"),
    sources=(_SOURCE,),
)
_PORTABLE = Message(
    Text("{key} pins {code}", "{key} 固定为 {code}"),
    Text("it stays right for CUDA machines, and a pinned device wins over the program's own choice",
         "该值对 CUDA 机器仍然正确；固定的设备会覆盖程序自身的选择"),
    Text("override it with npu on an NPU machine (the code now takes either), or leave the setting out",
         "在 NPU 机器上请以 npu 覆盖（迁移后的代码两者皆可），或去掉该设置"),
    Severity.WARNING,
    (_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Change the value; keys are never touched."""
    for setting in view.settings:
        if not VALUE.fullmatch(setting.value.text) or not is_device_name(setting.key.text):
            continue
        key = setting.key.text
        if settings.portable:
            yield found(view, setting.value, message=_PORTABLE, key=key)
        else:
            yield found(view, setting.value, swap(setting.value, 0, len("cuda"), "npu"), key=key)


IDIOM = Idiom("NPU173", "device-setting", _DEVICE, run)
