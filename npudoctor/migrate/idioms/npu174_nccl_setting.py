"""`backend: nccl` in configuration files and on command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found, swap

_KEY = re.compile(r"backend", re.IGNORECASE)
_VALUE = re.compile(r"nccl|cpu:gloo,cuda:nccl")
_NEW = {"nccl": "hccl", "cpu:gloo,cuda:nccl": "cpu:gloo,npu:hccl"}
_SOURCE = "https://github.com/Ascend/pytorch/blob/master/docs/zh/api/native_api/pytorch_2-13-0/torch-distributed.md"

_NCCL = Message(
    Text("{key} is {code}", "{key} 为 {code}"),
    Text("NCCL is NVIDIA's library; collectives of NPUs run on HCCL",
         "NCCL 是 NVIDIA 的通信库，NPU 的集合通信使用 HCCL"),
    Text("use hccl", "改用 hccl"),
    sources=(_SOURCE,),
)
_PORTABLE = Message(
    Text("{key} pins {code}", "{key} 固定为 {code}"),
    Text("on NPUs collectives run on HCCL", "NPU 的集合通信使用 HCCL"),
    Text("leave the setting out, or give hccl on an NPU machine", "去掉该设置，或在 NPU 机器上设为 hccl"),
    Severity.WARNING, (_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Change the value of anything that is called a backend."""
    for key, value in _pairs(view):
        if _VALUE.fullmatch(value.text) and _KEY.search(key):
            if settings.portable:
                yield found(view, value, message=_PORTABLE, key=key)
            else:
                yield found(view, value, swap(value, 0, None, _NEW[value.text]), key=key)


def _pairs(view: View) -> Iterator[tuple[str, Word]]:
    for setting in view.settings:
        yield setting.key.text, setting.value
    for command in view.commands:
        for i, word in enumerate(command.words):
            name, equals, _ = word.text.partition("=")
            if equals and i:
                yield name, word.part(len(name) + 1)
            elif word.text.startswith("-") and i + 1 < len(command.words):
                yield name, command.words[i + 1]


IDIOM = Idiom("NPU174", "nccl-setting", _NCCL, run)
