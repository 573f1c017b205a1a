"""One smoke test from a plan to a report."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from npudoctor.core.errors import UserError
from npudoctor.core.report import Report
from npudoctor.core.text import Text
from npudoctor.smoke_test import engine, summary
from npudoctor.smoke_test.child import Event
from npudoctor.smoke_test.stage import PPO, Context, Plan

_NO_PPO = Text("the package reference_ppo is missing at {path}", "在 {path} 处缺少软件包 reference_ppo")
_NO_PPO_HINT = Text("install npudoctor again", "请重新安装 npudoctor")


def smoke_test(plan: Plan, on_event: Callable[[Event], None] | None = None) -> Report:
    """Run every stage of `plan`.

    The scratch folder is removed after a run that passed, and kept after one that failed:
    it then holds the log that the next command reads.

    Raises:
        UserError: this installation is incomplete.
    """
    if not PPO.is_dir():
        raise UserError(_NO_PPO, _NO_PPO_HINT, {"path": PPO})
    folder = Path(tempfile.mkdtemp(prefix="npudoctor-smoke-test-"))
    context = Context(plan=plan, folder=folder, on_event=on_event)
    keep = False
    try:
        results = engine.run_stages(engine.all_stages(), context)
        keep = engine.failure(results) is not None
        return summary.report(results, context)
    finally:
        context.close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
