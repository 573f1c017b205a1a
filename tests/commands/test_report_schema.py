"""Commands that answer with a report in JSON follow the one schema that is shipped."""

from __future__ import annotations

import json

import jsonschema
import pytest

from npudoctor.tables import DATA
from tests.conftest import RunCli
from tests.support import overlays

SCHEMA = json.loads((DATA / "schema" / "report-1.json").read_text(encoding="utf-8"))
HOST = overlays.MACHINES / "910b-host-ok.json"


@pytest.mark.parametrize(
    "args",
    [
        ("check", "--no-probes"),
        ("container", "--replay", HOST),
        ("container", "--replay", overlays.MACHINES / "910b-host-no-driver.json"),
        ("pair", "--torch", "2.7.1"),
        ("pair", "--torch", "2.7.1", "--cann", "9.2.0"),
        ("explain", "507008"),
        ("explain", "NPU030"),
    ],
    ids=lambda args: " ".join(str(a).rsplit("/", 1)[-1] for a in args),
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_form(run_cli: RunCli, args: tuple, lang: str) -> None:
    done = run_cli(*args, "--json", "--lang", lang)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert report["exit_code"] == done.returncode
    assert report["command"] == args[0]
    assert "\x1b" not in done.stdout


def test_the_schema_refuses_what_is_not_a_report() -> None:
    for broken in ({}, {"schema": "npudoctor.report/2"}, []):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
