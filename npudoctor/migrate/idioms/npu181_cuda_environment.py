"""Environment variables that only CUDA and its libraries read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from npudoctor import tables
from npudoctor.core.text import verbatim
from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found, swap

_RENAMED_TITLE = Text("{code} is read by CUDA only", "只有 CUDA 读取 {code}")
_CAUSE = Text("on an NPU machine nothing reads it, so what it asks for does not happen",
              "NPU 机器上没有程序读取它，因此它不起作用")
_MESSAGE = Message(_RENAMED_TITLE, _CAUSE, Text("use the NPU's own variable", "改用 NPU 对应的变量"))


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Rename where name, values and meaning agree; report the others once per name and file."""
    if settings.portable:
        return
    known = variables()
    reported: set[str] = set()
    words = [s.key for s in view.settings if s.env] + view.mentions
    for word in sorted(words, key=lambda w: w.span()):
        row = known.get(word.text)
        if row is None:
            continue
        if row["treatment"] == "rename":
            yield found(view, word, swap(word, 0, None, row["counterpart"]), message=_message(row))
        elif word.text not in reported:
            reported.add(word.text)
            yield found(view, word, message=_message(row))


def variables() -> dict[str, Mapping[str, str]]:
    """Rows of the table by name."""
    return {row["name"]: row for row in tables.load("migrate_environment").rows}


def _message(row: Mapping[str, str]) -> Message:
    other = row["counterpart"]
    en, zh = row["note"], row["note_zh"]
    if other:
        en = f"{other} is the NPU's variable" + (f": {en}" if en else "")
        zh = f"NPU 对应的变量为 {other}" + (f"：{zh}" if zh else "")
    severity = Severity.NOTE if row["treatment"] == "rename" or not other else Severity.WARNING
    return Message(_RENAMED_TITLE, _CAUSE, verbatim(en, zh), severity, (row["source_url"],))


IDIOM = Idiom("NPU181", "cuda-environment", _MESSAGE, run)
