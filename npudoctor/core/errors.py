"""Errors that end a command with one clear sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Mapping

from npudoctor.core.text import Text


class UserError(Exception):
    """The input, the configuration or the environment does not allow the command.

    Args:
        sentence: what is wrong, one sentence.
        hint: what to do about it, one sentence.
        params: values for the named parameters of both.
    """

    def __init__(
        self,
        sentence: Text,
        hint: Text | None = None,
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(sentence.render("en", params))
        self.sentence = sentence
        self.hint = hint
        self.params = dict(params or {})


def first_line(error: Exception) -> str:
    """The first line that another library's error says, or its kind where it says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
