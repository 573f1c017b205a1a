"""Words shared by the sync rules: how often a place runs, and findings about what was left."""

from __future__ import annotations

from npudoctor.core.finding import Severity
from npudoctor.core.text import Text
from npudoctor.migrate.api import Message
from npudoctor.migrate.loops import Heat

WHEN = {
    Heat.STEP: ("once per environment step", "每个环境步都", "每个环境步一次"),
    Heat.MINIBATCH: ("once per minibatch", "每个小批量都", "每个小批量一次"),
    Heat.LOOP: ("on every pass of a loop", "每次循环都", "每次循环一次"),
    Heat.EPOCH: ("once per epoch or update", "每个 epoch 或每次更新都", "每个 epoch 或每次更新一次"),
    Heat.ONCE: ("once", "", "仅一次"),
}
SOURCE_SCALAR = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/torch_npu/csrc/aten/common/LocalScalarDenseNpu.cpp"
)
SOURCE_COPY = (
    "https://github.com/Ascend/pytorch/blob/9e73e708/torch_npu/csrc/aten/ops/op_api/CopyKernelOpApi.cpp"
)


def by_heat(en: str, zh: str) -> dict[Heat, Text]:
    """One text per heat; `<when>` becomes the words for it, in Chinese `<often>` where they stand alone."""
    return {
        heat: Text(en.replace("<when>", words), zh.replace("<when>", adverb).replace("<often>", alone))
        for heat, (words, adverb, alone) in WHEN.items()
    }


def severity_of(heat: Heat) -> Severity:
    """Reads on every step or minibatch deserve a warning, the rest a note."""
    return Severity.WARNING if heat in (Heat.STEP, Heat.MINIBATCH, Heat.LOOP) else Severity.NOTE


def message(title: Text, cause: Text, fix: Text, heat: Heat, *sources: str) -> Message:
    """A message whose severity follows the heat."""
    return Message(title, cause, fix, severity_of(heat), sources)
