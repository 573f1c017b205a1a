"""A context whose children are scripts of the test, and one shared quick run on the CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npudoctor.smoke_test import child
from npudoctor.smoke_test.child import ChildRun
from npudoctor.smoke_test.stage import Context, Device, Plan

FakeRun = Callable[..., ChildRun]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """A CPU context with a scratch folder."""
    return Context(
        plan=Plan(device="cpu", python=sys.executable), folder=tmp_path, device=Device("cpu", "CPU")
    )


@pytest.fixture
def scripted(context: Context, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Context]:
    """`scripted(code)`: every child of the context runs that Python code instead of its program."""

    def use(code: str) -> Context:
        def run(module: str, *args: str, timeout_s: float, env: dict[str, str] | None = None) -> ChildRun:
            return child.run([sys.executable, "-c", code], min(timeout_s, 2.0), context.environ(env))

        monkeypatch.setattr(context, "run", run)
        return context

    return use


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory, run_cli: Any) -> dict[str, Any]:
    """The JSON of one `smoke-test --quick --device cpu`, with an HTML page beside it."""
    page = tmp_path_factory.mktemp("page") / "out.html"
    result = run_cli("smoke-test", "--quick", "--device", "cpu", "--json", "--report", page, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return {
        "report": json.loads(result.stdout),
        "page": page.read_text(encoding="utf-8"),
        "stderr": result.stderr,
    }
