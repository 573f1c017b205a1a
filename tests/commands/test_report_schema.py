"""Commands that answer with a report in JSON follow the one schema that is shipped."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from npudoctor.tables import DATA
from tests.conftest import RunCli
from tests.support import overlays

SCHEMA = json.loads((DATA / "schema" / "report-1.json").read_text(encoding="utf-8"))
SUMMARY = json.loads((DATA / "schema" / "summary-1.json").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_form_of_the_summary(run_cli: RunCli, tmp_path: Path, lang: str) -> None:
    env = {"NPUDOCTOR_NO_STATE": "", "XDG_STATE_HOME": str(tmp_path)}
    run_cli("check", "--no-probes", "-q", env=env)
    (tmp_path / "x.py").write_text("import torch\nx = torch.ones(1).cuda()\n", encoding="utf-8")
    run_cli("migrate", "--check", tmp_path / "x.py", env=env)
    summary = json.loads(run_cli("report", "--json", "--lang", lang, env=env).stdout)
    jsonschema.validate(summary, SUMMARY)
    assert set(summary["results"]) == {"check", "migrate"}
    for kept in summary["results"].values():
        jsonschema.validate(kept["report"], SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**summary, "results": {"check": {}}}, SUMMARY)


def test_the_schema_refuses_what_is_not_a_report() -> None:
    for broken in ({}, {"schema": "npudoctor.report/2"}, []):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
