"""The torch that a project asks for, and the torch_npu that goes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor import tables
from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found

_TORCH = frozenset({"torch", "pytorch"})
_NPU = frozenset({"torch-npu"})
_SOURCE = "https://github.com/Ascend/pytorch/blob/master/COMPATIBILITY.md"

_UNPAIRED = Message(
    Text("{code}: no torch_npu exists for this torch", "{code}：没有与该 torch 配套的 torch_npu"),
    Text("torch_npu is built for exactly one version of torch; the table of {date} knows {known}",
         "torch_npu 只与一个确定版本的 torch 配套；{date} 的数据表中有 {known}"),
    Text("move to torch {nearest} (and torch-npu {release})",
         "请改用 torch {nearest}（及 torch-npu {release}）"),
    Severity.WARNING, (_SOURCE,),
)
_MISSING = Message(
    Text("{code} without torch-npu", "{code} 未同时声明 torch-npu"),
    Text("the migrated code imports torch_npu, which nothing here installs; it goes with torch {nearest} "
         "exactly",
         "迁移后的代码会导入 torch_npu，但此处未安装；它只与 torch {nearest} 配套"),
    Text("add torch-npu=={release} and pin torch=={nearest}",
         "请添加 torch-npu=={release} 并固定 torch=={nearest}"),
    Severity.NOTE, (_SOURCE,),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report a torch that has no torch_npu, else the torch_npu to add."""
    if any(r.name in _NPU for r in view.requirements):
        return
    pairs = releases()
    for requirement in view.requirements:
        if requirement.name not in _TORCH or not pairs:
            continue
        allowed = [torch for torch in pairs if allows(requirement.spec, torch)]
        nearest = allowed[0] if allowed else nearest_to(requirement.spec, list(pairs))
        yield found(
            view, requirement.word, message=_MISSING if allowed else _UNPAIRED,
            nearest=nearest, release=pairs[nearest], date=table_date(), known=", ".join(pairs),
        )


def releases() -> dict[str, str]:
    """torch -> newest installable torch_npu that is no pre-release, newest torch first.

    Empty without a table.
    """
    from packaging.version import Version

    newest: dict[str, str] = {}
    if not (tables.DATA / "pairing.tsv").exists():
        return newest
    known = [row for row in tables.load("pairing").rows if row["torch"] and row.get("on_index") == "yes"]
    rows = [(Version(row["torch"]), Version(row["torch_npu"]), row) for row in known]
    for _, npu, row in sorted(rows, key=lambda item: item[:2], reverse=True):
        if not npu.is_prerelease:
            newest.setdefault(row["torch"], row["torch_npu"])
    return newest


def table_date() -> str:
    """Date of the pairing table."""
    return tables.load("pairing").date


def allows(spec: str, torch: str) -> bool:
    """Whether a version part as written in a requirement allows this torch."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(_pep440(spec)).contains(torch)
    except InvalidSpecifier:
        return True  # a URL, a template: nothing can be said


def nearest_to(spec: str, known: list[str]) -> str:
    """The known torch closest to the first version named in `spec`, the newer one on a tie."""
    numbers = re.search(r"(\d+)\.(\d+)", spec)
    if numbers is None:
        return known[0]
    wanted = int(numbers.group(1)) * 100 + int(numbers.group(2))

    def distance(version: str) -> int:
        major, minor = (int(part) for part in version.split(".")[:2])
        return abs(major * 100 + minor - wanted)

    return min(known, key=distance)


def _pep440(spec: str) -> str:
    """Conda's `=1.12` is a prefix match; a local label such as +cu118 is another topic."""
    spec = re.sub(r"\+[\w.]+", "", spec.strip())
    if re.fullmatch(r"=\d[\w.]*(=\S+)?", spec):
        return f"=={spec[1:].split('=')[0]}.*"
    return spec


IDIOM = Idiom("NPU177", "torch-pin", _MISSING, run)
