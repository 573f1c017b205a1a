"""Required packages that need CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from npudoctor import tables
from npudoctor.core.text import verbatim
from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found

_MESSAGE = Message(
    Text("the package {code} needs CUDA", "软件包 {code} 需要 CUDA"),
    Text("it cannot be installed or does nothing useful on an NPU machine",
         "它在 NPU 机器上无法安装或无法发挥作用"),
    Text("remove it, or use what its row in the table of packages names",
         "请移除，或改用数据表中给出的替代方案"),
    Severity.WARNING,
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report each package of the table."""
    known = packages()
    if any(r.name.startswith("nvidia-") for r in view.requirements):
        known.pop("triton", None)  # a lock file of a CUDA torch: NPU176 speaks of all that it pulled in
    for requirement in view.requirements:
        row = known.get(re.sub(r"-cu\w*$|-cuda\w*$", "", requirement.name)) or known.get(requirement.name)
        if row is not None:
            yield found(view, requirement.word, message=_message(row))


def packages() -> dict[str, Mapping[str, str]]:
    """Rows of the table by name."""
    return {row["name"]: row for row in tables.load("migrate_packages").rows}


def _message(row: Mapping[str, str]) -> Message:
    advice = verbatim(f"instead: {row['advice']}", f"替代方案：{row['advice_zh']}")
    return Message(_MESSAGE.title, _MESSAGE.cause, advice, _MESSAGE.severity, (row["source_url"],))


IDIOM = Idiom("NPU180", "cuda-package", _MESSAGE, run)
