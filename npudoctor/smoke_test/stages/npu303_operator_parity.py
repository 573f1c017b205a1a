"""Stage 3: every operator that PPO uses, forward and backward, device against CPU.

On an NPU the child runs with TORCH_NPU_FALLBACK_CPU_DISABLE=1: a torch_npu that knows the
variable then raises instead of computing on the CPU in silence. What raised for that
reason is compared again without it. An older torch_npu warns once per operator, and the
warnings are counted.
"""

from __future__ import annotations

import json
import re

from npudoctor import tables
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.parity import judge
from npudoctor.smoke_test.stage import Context, Outcome, Stage

_CODE = "NPU303"
TABLE = "ppo_ops"
STRICT = "TORCH_NPU_FALLBACK_CPU_DISABLE"
# An NPU may compile each operator on first use; a hundred of them can take minutes.
_TIMEOUT_S = 600.0
_WARNING = re.compile(r"operator '?([\w:.]+?)'? is not currently supported on the NPU backend")


def run(context: Context) -> Outcome:
    """Compare every row of the table; a second child checks the numbers of what fell back."""
    rows = [dict(row) for row in tables.load(TABLE).rows]
    on_npu = context.kind == "npu"
    child = _compare(context, rows, {STRICT: "1"} if on_npu else {})
    ops = list(child.all("op"))
    fallen = sorted({e["op"] for e in ops if STRICT in str(e.get("error", ""))})
    if fallen and child.ended_well:
        child = _compare(context, [row for row in rows if row["op"] in fallen], {STRICT: "0"})
        ops = [e for e in ops if e["op"] not in fallen] + list(child.all("op"))
    if child.first("done") is None or not child.ended_well:
        return causes.no_result(_CODE, child, context)
    fallen += sorted({m.group(1) for m in map(_WARNING.search, child.log) if m} - set(fallen))
    strict = on_npu and bool(context.notes.get("strict_fallback"))
    return judge(_CODE, ops, fallen, strict=strict, kind=context.kind, log=child.log)


def _compare(context: Context, rows: list[dict[str, str]], env: dict[str, str]) -> ChildRun:
    path = context.folder / "ppo_ops.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return context.run(
        "parity", context.kind, str(path), str(context.plan.seed), timeout_s=_TIMEOUT_S, env=env
    )


STAGE = Stage(code=_CODE, slug="operator-parity", title=Text("operator parity", "算子一致性"), run=run)
