"""What a person sees: a rich progress bar on a terminal, else one line per update."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, TextIO

from reference_ppo.messages import ALARM, BAR, END, EVAL, UPDATE, Text, language

Event = dict[str, Any]


def number(value: float | None) -> str:
    """Six characters, also for what is not known."""
    return "   -  " if value is None else f"{value:6.2f}"


def render(text: Text, event: Event, lang: str) -> str:
    """A sentence about an event."""
    values = {**event, "ret": number(event.get("return")), "success": number(event.get("success_rate"))}
    values["speed"] = event.get("steps_per_s")
    for key in ("what", "remedy"):
        values[key] = event.get(key, {}).get(lang)
    return str(getattr(text, lang)).format(**values)


class Lines:
    """One short line per event."""

    TEXTS = {"update": UPDATE, "eval": EVAL, "health": ALARM, "end": END}  # noqa: RUF012

    def __init__(self, out: TextIO) -> None:
        self.out, self.lang = out, language()

    def __call__(self, event: Event) -> None:
        """Print it, if it is for people."""
        if event["event"] in self.TEXTS:
            print(render(self.TEXTS[event["event"]], event, self.lang), file=self.out, flush=True)

    def close(self) -> None:
        """Nothing to do."""


class Bar(Lines):
    """A progress bar with steps per second and return; alarms and the result stay as lines."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        self.progress = Progress(
            *columns, console=Console(file=out, no_color="NO_COLOR" in os.environ or None)
        )

    def __call__(self, event: Event) -> None:
        """Move the bar."""
        if event["event"] == "start":
            self.task = self.progress.add_task("", total=event["config"]["total_steps"])
            self.progress.start()
        elif event["event"] == "update":
            self.progress.update(
                self.task, completed=event["steps"], description=render(BAR, event, self.lang)
            )
        elif event["event"] in ("health", "end"):
            text = render(self.TEXTS[event["event"]], event, self.lang)
            self.progress.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self.progress.stop()


def display() -> Lines:
    """A bar where there is a terminal (and rich), else lines."""
    out = sys.stdout
    return Bar(out) if out.isatty() and importlib.util.find_spec("rich") else Lines(out)
