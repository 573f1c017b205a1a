"""The bar shows on a terminal, once the work lasts, and leaves nothing behind."""

from __future__ import annotations

import io
import sys

import pytest

from npudoctor.report import progress
from npudoctor.session import Session


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, delay: float, session: Session) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", delay)
    with progress.delayed_bar(session, "reading the log", 10) as advance:
        for _ in range(10):
            advance(1)
    return stream.getvalue()


def test_long_work_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, Terminal(), -1.0, Session(color="always"))
    assert "reading the log" in said
    assert "100%" in said


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), 60.0, Session()) == ""


def test_without_a_terminal_or_with_quiet_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), -1.0, Session()) == ""
    assert shown(monkeypatch, Terminal(), -1.0, Session(quiet=True)) == ""


def test_an_error_in_the_work_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "DELAY_S", -1.0)
    bars = []
    real = progress._Bar

    def kept(*args: object) -> object:
        bars.append(real(*args))  # type: ignore[arg-type]
        return bars[-1]

    monkeypatch.setattr(progress, "_Bar", kept)

    def work() -> None:
        with progress.delayed_bar(Session(), "x", None) as advance:
            advance(1)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert bars[0]._bar.live.is_started is False
