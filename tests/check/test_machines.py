"""The recorded machines and the verdict that each must get, and what must hold for all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from npudoctor.check.run import facts_of, report
from npudoctor.machine import bundle
from npudoctor.machine.host import RecordingHost
from npudoctor.machine.redact import Redactor
from npudoctor.pairing.table import DriverRelation, load
from npudoctor.report.as_json import as_dict
from tests.support import overlays

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPECTED = tomllib.loads((overlays.MACHINES / "expected.toml").read_text(encoding="utf-8"))
NAMES = sorted(p.stem for p in overlays.MACHINES.glob("*.json"))


def verdict(data: dict, lang: str = "en") -> dict:
    return as_dict(report(overlays.facts(data), load()), lang)


def codes(findings: list[dict]) -> list[str]:
    return [c for f in findings for c in (f["code"], *codes(f["consequences"]))]


def test_every_machine_has_its_expectation() -> None:
    assert sorted(EXPECTED) == NAMES
    assert len(NAMES) >= 25


@pytest.mark.parametrize("name", NAMES)
def test_verdict(name: str) -> None:
    said = verdict(overlays.machine_data(name))
    wanted = EXPECTED[name]
    assert codes(said["findings"]) == wanted["codes"]
    assert said["exit_code"] == wanted["exit"]
    first = json.dumps(said["findings"][:1], ensure_ascii=False).lower()
    assert [word for word in wanted.get("mention", []) if word.lower() not in first] == []
    alone = json.dumps({**said["findings"][0], "consequences": []} if said["findings"] else {}).lower()
    assert [word for word in wanted.get("never", []) if word.lower() in alone] == []
    assert not [u for u in said["not_checked"] if "crash" in (u["reason"] or "")]


@pytest.mark.parametrize("name", NAMES)
def test_provenance(name: str) -> None:
    data = overlays.machine_data(name)
    if data["origin"] == "reconstructed":
        assert data["sources"]
        assert data["about"]
    assert "chmod 777" not in json.dumps(verdict(data)), "opening a node to everybody is no fix"


@pytest.mark.parametrize("name", NAMES)
def test_redaction_keeps_the_verdict(name: str) -> None:
    data = overlays.machine_data(name)
    clean = Redactor({"somehost": "HOST", "someuser": "USER"}, ("/home/someuser",)).data(data)
    assert codes(verdict(clean)["findings"]) == EXPECTED[name]["codes"]


@pytest.mark.parametrize("name", NAMES)
def test_recording_a_replay_gives_the_same_machine(name: str) -> None:
    """What the probes ask for is all that a bundle needs."""
    kept = bundle.from_json(overlays.machine_data(name))
    from npudoctor.machine.collect import collect
    from npudoctor.machine.probe import Settings

    host = RecordingHost(kept.replay())
    first = collect(host, Settings(python=kept.python))
    again = bundle.from_json(
        json.loads(json.dumps(bundle.to_json(bundle.Bundle(host.observations, kept.python))))
    )
    assert facts_of(again) == first


@pytest.mark.parametrize("name", NAMES[:6])
def test_chinese_report_says_the_same(name: str) -> None:
    data = overlays.machine_data(name)
    assert codes(verdict(data, "zh")["findings"]) == codes(verdict(data)["findings"])


def test_versions_unknown_to_the_table_are_not_wrong() -> None:
    data = overlays.apply(
        overlays.machine_data("910b-host-ok"),
        [{"kind": "package", "name": "torch-npu", "version": "2.6.0.dev20991231", "requires": []}],
        "910b-host-ok",
    )
    said = verdict(data)
    assert said["findings"] == []
    unknown = {u["code"]: u["reason"] for u in said["not_checked"]}
    assert {"NPU050", "NPU071", "NPU073"} <= set(unknown)
    assert all("unknown to the table of 20" in unknown[c] for c in ("NPU050", "NPU071", "NPU073"))


def test_declared_levels_come_before_the_table() -> None:
    """A driver that the table calls too old, and that CANN's own file lists, is fine."""
    base = "910b2c-16npu-host-ok"
    driver = "/usr/local/Ascend/driver/version.info"
    old = {
        "kind": "read",
        "target": driver,
        "text": "Version=23.0.1\nInnerversion=V100R001C18SPC001B233\npackage_version=23.0.1\n",
    }
    assert "NPU010" not in codes(
        verdict(overlays.apply(overlays.machine_data(base), [old], base))["findings"]
    )


def test_path_of_fixture_is_replayable(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(overlays.machine_data("910b-host-ok")))
    assert facts_of(bundle.load(path)).python.first("torch") is not None


def test_latest_as_a_folder_of_links_is_one_installation() -> None:
    """Up to CANN 8.3 `latest` is a real folder whose entries are links."""
    data = overlays.machine_data("910b-host-ok")
    home = "/usr/local/Ascend/ascend-toolkit"
    seen = data["observations"]
    del seen["stat"][f"{home}/latest"]
    for path, content in list(seen["read"].items()):
        if path.startswith(f"{home}/8.2.RC1/"):
            seen["read"][path.replace("/8.2.RC1/", "/latest/")] = content
    paths = seen["env"]["env"]["data"]["LD_LIBRARY_PATH"]
    seen["env"]["env"]["data"]["LD_LIBRARY_PATH"] = f"{home}/8.2.RC1/lib64:{paths}"
    machine = overlays.facts(data)
    assert [i.home for i in machine.cann.installs.value] == [f"{home}/8.2.RC1"]  # type: ignore[union-attr]
    assert codes(verdict(data)["findings"]) == []


def test_a_node_that_only_tools_use_is_no_fault() -> None:
    data = overlays.machine_data("910b-host-ok")
    node = {"kind": "char", "mode": "0600", "uid": 0, "gid": 0, "owner": "root", "group": "root"}
    data["observations"]["stat"]["/dev/devmm_svm_agent"] = {"data": {**node, "real": "/dev/devmm_svm_agent"}}
    data["observations"]["open"]["/dev/devmm_svm_agent"] = {"error": "EACCES"}
    data["observations"]["identity"]["identity"]["data"]["uid"] = 1000
    assert codes(verdict(data)["findings"]) == []


def test_without_probes_a_healthy_machine_is_green_and_says_what_was_not_proved() -> None:
    data = overlays.machine_data("910b-host-ok")
    del data["observations"]["run"]["compute"]
    data["closed"] = True
    data["observations"]["run"]["compute"] = {"error": "not-recorded"}
    data["observations"]["run"]["import torch, torch_npu without autoload"] = {"error": "not-recorded"}
    said = verdict(data)
    assert said["findings"] == []
    assert said["exit_code"] == 0
    assert "not proved" in said["verdict"]


def test_the_driver_is_known_from_npu_smi_where_its_file_is_not_mounted() -> None:
    base = "910b-host-driver-too-old-official"
    gone = {"kind": "read", "target": "/usr/local/Ascend/driver/version.info", "drop": True}
    said = verdict(overlays.apply(overlays.machine_data(base), [gone], base))
    assert said["findings"][0]["code"] == "NPU010"
    assert said["facts"]["driver"] == {"place": "npu-smi info", "value": "25.0.1"}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("/usr/local/Ascend/driver/version.info", "Version=31.0.0\npackage_version=31.0.0\n"),
        (
            "/usr/local/Ascend/ascend-toolkit/8.2.RC1/aarch64-linux/ascend_toolkit_install.info",
            "version=19.9.0\narch=aarch64\n",
        ),
        (
            "/usr/local/Ascend/ascend-toolkit/8.2.RC1/aarch64-linux/ascend_toolkit_install.info",
            "version=next-generation\narch=aarch64\n",
        ),
    ],
    ids=["driver newer than every row", "CANN newer than every row", "CANN that does not parse"],
)
def test_what_is_newer_than_the_tables_is_no_fault(place: str, text: str) -> None:
    base = "910b-host-ok"
    said = verdict(
        overlays.apply(overlays.machine_data(base), [{"kind": "read", "target": place, "text": text}], base)
    )
    assert not [f for f in said["findings"] if f["severity"] != "note"], codes(said["findings"])
    assert said["exit_code"] == 0


def test_the_firmware_speaks_where_the_driver_is_silent() -> None:
    base = "910b-host-firmware-newer-than-driver"
    old = {"kind": "read", "target": "/usr/local/Ascend/driver/version.info", "text": "Version=22.0.4\n"}
    first = verdict(overlays.apply(overlays.machine_data(base), [old], base))["findings"][0]
    assert first["code"] == "NPU007"
    assert "firmware/version.info" in first["cause"]


def test_a_wheel_that_does_not_exist_is_not_offered() -> None:
    """torch_npu 2.6.0 was never built for Python 3.12: reinstalling it there cannot work."""
    first = verdict(overlays.machine_data("910b-host-wheel-of-other-python"))["findings"][0]
    commands = [command for fix in first["fixes"] for command in fix["commands"]]
    assert not [command for command in commands if "torch-npu==2.6.0" in command]
    assert any("python=3.11" in command for command in commands)


@pytest.mark.parametrize("name", ["910b-host-wheel-of-other-python", "910b-host-no-torch"])
def test_a_set_in_a_fix_is_one_that_the_driver_carries(name: str) -> None:
    """CANN 9.1.0 needs driver 25.2: on a host with 25.0 it would be the next fault."""
    first = verdict(overlays.machine_data(name))["findings"][0]
    sets = [fix["note"] for fix in first["fixes"] if "CANN " in fix["note"] and "torch_npu " in fix["note"]]
    assert sets
    for note in sets:
        cann = note.split("CANN ")[1].split(",")[0]
        relation = load().driver_relation(cann, "25.0.rc1.1")
        assert relation in (DriverRelation.PAIRED, DriverRelation.COMPATIBLE)


def test_missing_cann_on_an_old_driver() -> None:
    """The CANN of this torch_npu asks for a newer driver; who cannot change it needs a second way."""
    data = json.loads(json.dumps(overlays.machine_data("910b-host-ok")).replace("25.0.rc1.1", "23.0.3"))
    seen = data["observations"]
    for entries in seen.values():
        for target in [t for t in entries if "ascend-toolkit" in t or t == "compute"]:
            del entries[target]
    seen["env"]["env"] = {"data": {}}
    first = verdict(data)["findings"][0]
    assert first["code"] == "NPU030"
    assert any("driver 23.0.3 carries" in fix["note"] for fix in first["fixes"])
