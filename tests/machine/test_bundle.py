"""Bundles: schema, round trip, bad input, and a replay that never asks this machine."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from npudoctor.core.errors import UserError
from npudoctor.machine import bundle
from npudoctor.machine.host import NOT_RECORDED, Command, Observation
from npudoctor.machine.replay import ReplayHost
from npudoctor.tables import DATA
from tests.support import overlays

SCHEMA = json.loads((DATA / "schema" / "bundle-1.json").read_text(encoding="utf-8"))
NAMES = sorted(p.stem for p in overlays.MACHINES.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_machines_follow_the_schema_and_survive_the_round_trip(name: str) -> None:
    data = overlays.machine_data(name)
    jsonschema.validate(data, SCHEMA)
    kept = bundle.from_json(data)
    again = bundle.from_json(json.loads(json.dumps(bundle.to_json(kept))))
    assert again == kept


def test_replay_never_falls_through_to_the_machine() -> None:
    host = ReplayHost({})
    for seen in (
        host.read("/etc/os-release"),
        host.list("/"),
        host.stat("/"),
        host.environ(),
        host.identity(),
        host.run(Command("true", ("true",))),
        host.open_rw(["/dev/null"])["/dev/null"],
    ):
        assert seen.error == NOT_RECORDED


def test_a_closed_bundle_implies_folders_and_follows_its_links() -> None:
    host = ReplayHost(
        {
            ("read", "/a/cann-8/lib/version"): Observation("read", "/a/cann-8/lib/version", "v"),
            ("stat", "/a/cann"): Observation("stat", "/a/cann", {"kind": "dir", "real": "/a/cann-8"}),
        },
        closed=True,
    )
    assert host.list("/a").data == ["cann", "cann-8"]
    assert host.stat("/a/cann-8/lib").data["kind"] == "dir"
    assert host.read("/a/cann/lib/version").data == "v"
    assert host.list("/a/cann").data == ["lib"]
    assert host.stat("/b").error == "ENOENT"
    assert host.run(Command("x", ("x",))).error == "ENOENT"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a machine bundle"),
        ("not json", "not a machine bundle"),
        ("[]", "no schema"),
        ("{}", "no schema"),
        ('{"schema": "npudoctor.bundle/99"}', "this npudoctor reads"),
        ('{"schema": "npudoctor.bundle/1"}', "damaged"),
        ('{"schema": "npudoctor.bundle/1", "observations": []}', "damaged"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"read": {"/x": {}}}}', "damaged"),
        ("[" * 100_000, "not a machine bundle"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"env": {"env": {"data": [1]}}}}', "env env"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"env": {"env": {"data": {"A": 1}}}}}', "env env"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"list": {"/": {"data": {"a": 1}}}}}', "list /"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"stat": {"/x": {"data": "x"}}}}', "stat /x"),
        (
            '{"schema": "npudoctor.bundle/1", "observations": {"stat": {"/x": {"data": {"uid": "x"}}}}}',
            "stat",
        ),
        ('{"schema": "npudoctor.bundle/1", "observations": {"identity": {"identity": {"data": 3}}}}', "iden"),
        ('{"schema": "npudoctor.bundle/1", "observations": {"run": {"x": {"exit": "0"}}}}', "run x"),
    ],
)
def test_bad_bundles_are_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        bundle.load(path)


def test_unreadable_bundle(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        bundle.load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a machine bundle"):
        bundle.load(tmp_path / "binary.json")
