"""docs/migrate.md speaks of every option, setting and file finding."""

from __future__ import annotations

from npudoctor import config
from npudoctor.commands.migrate import COMMAND
from npudoctor.migrate.problems import UNITS
from tests.conftest import ROOT

MANUAL = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
SHARED = {"--lang", "--color", "--quiet", "--verbose", "--debug", "--json"}


def test_every_option_is_explained() -> None:
    options = {max(p.opts, key=len) for p in COMMAND.params if p.opts[0].startswith("-")} - SHARED
    assert {name for name in options if name not in MANUAL} == set()


def test_every_setting_is_explained() -> None:
    assert {key for key in config._PARSERS if key not in MANUAL} == set()


def test_every_finding_about_files_is_explained() -> None:
    assert {f"{code} {slug}" for code, (slug, _) in UNITS.items() if f"{code} {slug}" not in MANUAL} == set()
