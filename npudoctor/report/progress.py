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
    bar = _Bar(session, title, total)
    try:
        yield bar.advance
    finally:
        bar.stop()


class _Bar:
    """Counts silently, and turns into a rich progress bar once the delay has passed."""

    def __init__(self, session: Session, title: str, total: int | None) -> None:
        self._session, self._title, self._total = session, title, total
        self._started = time.monotonic()
        self._wanted = not session.quiet and sys.stderr.isatty()
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def advance(self, n: int = 1) -> None:
        self._done += n
        if not self._wanted:
            return
        if self._bar is None and time.monotonic() - self._started > DELAY_S:
            from rich.progress import Progress

            self._bar = Progress(console=self._session.console(sys.stderr), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
