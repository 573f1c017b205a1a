"""A progress bar that appears only on a terminal and only when the work lasts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npudoctor.session import Session

DELAY_S = 2.0


@contextmanager
def delayed_bar(session: Session, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield `advance(n)`; after two seconds of work a bar shows on standard error."""
    if session.quiet or not sys.stderr.isatty():
        yield lambda n=1: None
        return
    state: dict[str, Any] = {"done": 0, "bar": None, "task": None}
    started = time.monotonic()

    def advance(n: int = 1) -> None:
        state["done"] += n
        if state["bar"] is None and time.monotonic() - started > DELAY_S:
            from rich.progress import Progress

            state["bar"] = Progress(console=session.console(sys.stderr), transient=True)
            state["bar"].start()
            state["task"] = state["bar"].add_task(title, total=total)
        if state["bar"] is not None:
            state["bar"].update(state["task"], completed=state["done"])

    try:
        yield advance
    finally:
        if state["bar"] is not None:
            state["bar"].stop()
