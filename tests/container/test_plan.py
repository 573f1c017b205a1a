"""The docker run line holds what is on the host, and nothing that is not."""

from __future__ import annotations

import json
import shlex

import pytest

from npudoctor.container.plan import Plan, plan
from npudoctor.pairing.table import load
from tests.conftest import RunCli
from tests.support import overlays

HOST = "910b-host-ok"


def planned(changes: list | None = None, base: str = HOST, **wish: object) -> Plan:
    machine = overlays.facts(overlays.apply(overlays.machine_data(base), changes or [], base))
    return plan(machine, load(), **wish)  # type: ignore[arg-type]


def test_every_device_and_mount_exists_on_the_host() -> None:
    made = planned()
    seen = overlays.machine_data(HOST)["observations"]
    assert set(made.devices) == set(seen["open"])
    assert made.findings == ()
    assert "/usr/local/bin/npu-smi" in made.mounts
    words = shlex.split(made.command().replace("\\\n", " "))
    assert [words[i + 1] for i, w in enumerate(words) if w == "--device"] == list(made.devices)
    assert words[words.index("--group-add") + 1] == "1000"
    assert made.image.startswith("quay.io/ascend/cann:")
    assert "910b" in made.image


OPENED_BY = [("0660", 0, ()), ("0666", 1000, ()), ("0660", 1000, (1000,))]


@pytest.mark.parametrize(("mode", "gid", "groups"), OPENED_BY)
def test_a_group_is_added_where_it_opens_the_nodes(mode: str, gid: int, groups: tuple[int, ...]) -> None:
    """Not root's, which every container has, and not where the nodes are open to all."""
    data = overlays.machine_data(HOST)
    for path, entry in data["observations"]["stat"].items():
        if path.startswith("/dev/"):
            entry["data"].update(mode=mode, gid=gid)
    assert plan(overlays.facts(data), load()).groups == groups


def test_chosen_chips_keep_the_managing_nodes() -> None:
    made = planned(chips=(1,))
    assert "/dev/davinci1" in made.devices
    assert "/dev/davinci0" not in made.devices
    assert {"/dev/davinci_manager", "/dev/hisi_hdc", "/dev/devmm_svm"} <= set(made.devices)


def test_a_chip_that_is_not_here() -> None:
    (finding,) = planned(chips=(0, 7)).findings
    assert finding.code == "NPU098"
    assert finding.params["there"] == "0, 1"


def test_missing_files_are_named_and_left_out() -> None:
    gone = [
        {"kind": "stat", "target": "/usr/local/dcmi", "drop": True},
        {"kind": "read", "target": "/etc/ascend_install.info", "drop": True},
    ]
    made = planned(gone)
    assert {f.params["path"] for f in made.findings} == {"/usr/local/dcmi", "/etc/ascend_install.info"}
    assert "/usr/local/dcmi" not in made.command()


@pytest.mark.parametrize(
    ("error", "words"), [("EACCES", "may not be looked at by this user"), ("EIO", "could not be looked at")]
)
def test_a_refused_path_is_not_called_missing(error: str, words: str) -> None:
    made = planned([{"kind": "read", "target": "/etc/ascend_install.info", "error": error}])
    (finding,) = made.findings
    assert (finding.code, finding.place and finding.place.path) == ("NPU099", "/etc/ascend_install.info")
    assert words in finding.title.render("en", finding.params)
    assert [e.value for e in finding.evidence] == [error]
    assert "/etc/ascend_install.info" not in made.command()


def test_a_missing_path_shows_no_error_number() -> None:
    (finding,) = planned([{"kind": "stat", "target": "/usr/local/dcmi", "drop": True}]).findings
    assert finding.evidence == ()


def test_network_files_only_for_several_nodes() -> None:
    stat = {"kind": "file", "mode": "0644", "uid": 0, "gid": 0, "owner": "root", "group": "root"}
    there = [
        {"kind": "stat", "target": path, "data": {**stat, "real": path}}
        for path in ("/etc/hccn.conf", "/usr/local/Ascend/driver/tools/hccn_tool")
    ]
    assert "/etc/hccn.conf" not in planned(there).mounts
    assert {"/etc/hccn.conf", "/usr/local/Ascend/driver/tools/hccn_tool"} <= set(
        planned(there, nodes=2).mounts
    )


@pytest.mark.parametrize(
    ("base", "code"),
    [
        ("910b-container-cann85-ok", "NPU096"),
        ("910b-host-no-driver", "NPU097"),
    ],
)
def test_where_no_line_can_be_made(base: str, code: str) -> None:
    made = planned(base=base)
    assert [f.code for f in made.findings] == [code]
    assert made.devices == ()


def test_command(run_cli: RunCli) -> None:
    done = run_cli("container", "--replay", overlays.MACHINES / f"{HOST}.json")
    assert done.returncode == 0
    assert "--device /dev/davinci0" in done.stdout
    done = run_cli(
        "container",
        "--replay",
        overlays.MACHINES / f"{HOST}.json",
        "--json",
        "--chips",
        "0",
        "--image",
        "my/image:1",
    )
    extra = json.loads(done.stdout)["extra"]
    assert extra["image"] == "my/image:1"
    assert extra["command"].endswith("my/image:1 bash")
    assert run_cli("container", "--replay", overlays.MACHINES / "910b-host-no-driver.json").returncode == 1
    bad = run_cli("container", "--chips", "a,b", "--replay", overlays.MACHINES / f"{HOST}.json")
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr


def test_an_image_name_is_one_word_of_the_line() -> None:
    words = shlex.split(planned(image="a b;rm -rf /").command().replace("\\\n", " "))
    assert words[-2:] == ["a b;rm -rf /", "bash"]


def test_a_missing_network_file_is_said_for_several_nodes() -> None:
    assert [f.params["path"] for f in planned(nodes=2).findings] == ["/etc/hccn.conf"]
    assert planned(nodes=1).findings == ()
