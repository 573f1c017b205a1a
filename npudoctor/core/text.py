"""Messages in two languages, kept in the unit that uses them.

A `Text` refuses to exist when one language is missing or when the two name different
parameters, so an incomplete catalogue fails at import. `catalogue()` lists every text
whose module has been imported; tests and `npudoctor.dev messages` import them all first.
"""

from __future__ import annotations

import locale
import os
import re
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass

LANGUAGES = ("en", "zh")

_catalogue: list[tuple[str, Text]] = []
_formatter = string.Formatter()
# What messages count. "1 files are" becomes "1 file is"; an adjective may stand between.
_ONE = re.compile(
    r"(?<![\w.,:=-])1 ((?:[a-z][a-z-]* )?(?:check|edit|episode|file|finding|group|host|item|kernel|line|node"
    r"|note|path|place|set|step|symptom|sync))s\b( are\b| were\b)?"
)


@dataclass(frozen=True)
class Text:
    """One message: English and Chinese templates with the same `{named}` parameters.

    Raises:
        ValueError: a language is empty, or the two have different parameters.
    """

    en: str
    zh: str

    def __post_init__(self) -> None:
        if not self.en.strip() or not self.zh.strip():
            raise ValueError(f"a message needs both languages: en={self.en!r} zh={self.zh!r}")
        if self.parameters(self.en) != self.parameters(self.zh):
            raise ValueError(f"en and zh name different parameters: {self.en!r} / {self.zh!r}")
        _catalogue.append((_defining_module(), self))

    @staticmethod
    def parameters(template: str) -> frozenset[str]:
        """Names of the `{named}` fields in a template."""
        names = (name for _, name, _, _ in _formatter.parse(template) if name is not None)
        return frozenset(name.split(".")[0].split("[")[0] for name in names)

    def render(self, lang: str = "en", params: Mapping[str, object] | None = None) -> str:
        """The message in `lang` with `params` filled in; a parameter that is a `Text` is rendered too."""
        template = self.zh if lang == "zh" else self.en
        filled = {k: v.render(lang) if isinstance(v, Text) else v for k, v in (params or {}).items()}
        words = _formatter.vformat(template, (), filled)
        return words if lang == "zh" or "1 " not in words else _ONE.sub(_singular, words)


def _singular(match: re.Match[str]) -> str:
    verb = {" are": " is", " were": " was"}.get(match.group(2) or "", "")
    return f"1 {match.group(1)}{verb}"


def verbatim(text: str, zh: str | None = None) -> Text:
    """Text that needs no translation, or data that comes in both languages.

    A command, a path, a quoted log line; with `zh`, a remark of a data table.
    """
    instance = object.__new__(Text)  # not part of the catalogue: there is nothing to translate
    for lang, words in (("en", text), ("zh", text if zh is None else zh)):
        object.__setattr__(instance, lang, words.replace("{", "{{").replace("}", "}}"))
    return instance


def filled(text: Text, params: Mapping[str, object]) -> Text:
    """`text` with `params` filled in for every language: a finished sentence, not a new message.

    A parameter that is itself a `Text` is rendered in the same language.
    """
    sentences = []
    for lang in LANGUAGES:
        words = {k: v.render(lang) if isinstance(v, Text) else v for k, v in params.items()}
        sentences.append(text.render(lang, words))
    return verbatim(*sentences)


# C0 but newline and tab, DEL, C1, and the marks that turn the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    """`text` with control characters as Python escapes: what is quoted must not steer a terminal."""
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def catalogue() -> list[tuple[str, Text]]:
    """Every `(module, Text)` constructed so far, in order of construction."""
    return list(_catalogue)


def default_language(environ: Mapping[str, str] | None = None) -> str:
    """`zh` when the environment's locale is Chinese, else `en` (POSIX order of precedence)."""
    env = os.environ if environ is None else environ
    for name in ("NPUDOCTOR_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = env.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    if environ is None:
        try:
            name = locale.getlocale()[0] or ""
        except ValueError:
            name = ""
        return "zh" if name.lower().startswith(("zh", "chinese")) else "en"
    return "en"


def _defining_module() -> str:
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in (__name__, "dataclasses"):
        frame = frame.f_back  # type: ignore[assignment]
    return str(frame.f_globals.get("__name__", "?")) if frame is not None else "?"
