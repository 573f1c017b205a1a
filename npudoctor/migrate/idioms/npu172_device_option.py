"""`--device cuda` and `trainer.device=cuda` on command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found, swap
from npudoctor.migrate.idioms.devices import VALUE, is_device_name

_FLAG = re.compile(r"--?([A-Za-z][\w.\-]*)(=)?")
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w./\-]*)=")
_TESTS = frozenset({"=", "==", "!=", "=~"})

_SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
_DEVICE = Message(
    Text("{code}: the command asks for a CUDA device", "{code}：命令指定了 CUDA 设备"),
    Text("a migrated program started with it finds no such device", "迁移后的程序以此启动时找不到该设备"),
    Text("ask for npu", "改为 npu"),
    sources=(_SOURCE,),
)
_PORTABLE = Message(
    Text("{code}: the command pins a CUDA device", "{code}：命令固定使用 CUDA 设备"),
    Text("it stays right for CUDA machines, and a pinned device wins over the program's own choice",
         "该值对 CUDA 机器仍然正确；固定的设备会覆盖程序自身的选择"),
    Text("give npu on an NPU machine (the code now takes either), or leave the option out",
         "在 NPU 机器上请指定 npu（迁移后的代码两者皆可），或去掉该选项"),
    Severity.WARNING,
    (_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Change the value; option names are never touched."""
    for command in view.commands:
        words = command.words
        for i, word in enumerate(words):
            value = _value(words, i, word)
            if value is None:
                continue
            if settings.portable:
                yield found(view, value, message=_PORTABLE)
            else:
                yield found(view, value, swap(value, 0, len("cuda"), "npu"))


def _value(words: tuple[Word, ...], i: int, word: Word) -> Word | None:
    """The device value that begins in `word`, if there is one."""
    flag = _FLAG.match(word.text)
    if flag and flag.end() == len(word.text) and not flag.group(2):
        following = words[i + 1] if i + 1 < len(words) else None
        good = following is not None and is_device_name(flag.group(1)) and VALUE.fullmatch(following.text)
        return following if good else None
    option = flag if flag and flag.group(2) else (_OVERRIDE.match(word.text) if i else None)
    if option and is_device_name(option.group(1)) and VALUE.fullmatch(word.text, option.end()):
        return word.part(option.end())
    if word.text in _TESTS and 0 < i < len(words) - 1:  # [ "$DEVICE" = cuda ]
        for one, other in ((words[i - 1], words[i + 1]), (words[i + 1], words[i - 1])):
            if "$" in one.text and is_device_name(one.text.strip("${}")) and VALUE.fullmatch(other.text):
                return other
    return None


IDIOM = Idiom("NPU172", "device-option", _DEVICE, run)
