"""Words for the phases of a training loop and for what a device waits for, by their names in JSON."""

from __future__ import annotations

from npudoctor.core.text import Text, verbatim

_WORDS = {
    "setup": Text("setup", "准备"),
    "rollout": Text("rollout", "采样"),
    "env": Text("env", "环境"),
    "transfer": Text("transfer", "传输"),
    "inference": Text("inference", "推理"),
    "update": Text("update", "更新"),
    "end": Text("end", "收尾"),
    "other": Text("other", "其他"),
    "sync": Text("sync", "同步"),
    "launch": Text("launch", "下发"),
}


def said(name: str) -> Text:
    """The words for `name`; a name that a user gave to a phase stays as it is."""
    return _WORDS.get(name, verbatim(name))
