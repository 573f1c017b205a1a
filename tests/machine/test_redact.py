"""Redaction: nothing secret stays, nothing useful goes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npudoctor.machine.redact import Redactor

SECRETS = {
    "host name": ("running on trainer17 now", "trainer17"),
    "host name in a file name": ("trainer17_4242_20251130_ascend_pt/", "trainer17"),
    "host name with a domain": ("ssh: trainer17.hpc.example.org: refused", "hpc"),
    "host name with a private domain": ("TRAINER17.local: refused", "TRAINER17"),
    "host name before a hyphen": ("bond trainer17-eth0 is up", "trainer17"),
    "user name": ("/proc/alice/x owned by alice", "alice"),
    "home": ("/data/home/alice/Ascend", "/data/home/alice"),
    "other home": ("/home/bob/.local/lib", "bob"),
    "address": ("connect to 10.20.30.40 failed", "10.20.30.40"),
    "ipv6": ("peer fe80::1ff:fe23:4567:890a down", "fe80::1ff:fe23:4567:890a"),
    "mac": ("link 52:54:00:12:34:56", "52:54:00:12:34:56"),
    "serial": ("        Serial Number                  : 2102351234XYZ", "2102351234XYZ"),
    "die": ("VDie ID                        : A1B2C3D4 11223344", "A1B2C3D4"),
    "token": ("hf_abcdefghijklmnopqrstuvwxyz", "hf_abcdefghij"),
    "password in an address": ("http://joe:pa55@mirror/simple", "pa55"),
    "password with an at sign": ("http://joe:pa@55@mirror/simple", "55"),
    "token in an address": ("https://s3cr3t@mirror/simple", "s3cr3t"),
    "private mirror": ("Looking in indexes: https://pip.corp.example/simple", "corp.example"),
    "password in a query": ("GET /x?user=1&password=hunter2&y=1", "hunter2"),
    "token on a command line": ("run.py --api-key=abc123 --lr 1", "abc123"),
    "google key": ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSy"),
    "mac with dashes": ("link 52-54-00-12-34-56 up", "52-54-00"),
    "short serial": ("SN: 2102351234XYZ", "2102351234XYZ"),
    "address beside the word version": ("proxy version 2 at 192.168.3.4", "192.168.3.4"),
    "users folder": ("/data/users/bob/lib", "bob"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_go(kind: str) -> None:
    text, secret = SECRETS[kind]
    redactor = Redactor({"trainer17": "HOST", "alice": "USER"}, ("/data/home/alice",))
    clean = redactor.data({"observations": {"run": {"x": {"stdout": [text], "stderr": text}}}})
    assert secret not in json.dumps(clean)


def test_secret_variables_go_by_name() -> None:
    env = {
        "HF_TOKEN": "abc",
        "RAY_REDIS_PASSWORD": "p",
        "VLLM_API_KEY": "k",
        "ASCEND_HOME_PATH": "/usr/local/x",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    clean = Redactor().data({"env": {"env": {"data": env}}})["env"]["env"]["data"]
    assert {n for n, v in clean.items() if v == "<redacted>"} == {
        "HF_TOKEN",
        "RAY_REDIS_PASSWORD",
        "VLLM_API_KEY",
    }
    assert clean["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_owners_and_groups_go_but_for_those_that_every_machine_has() -> None:
    identity = {"uid": 1000, "group_names": ["root", "HwHiAiUser", "1004", "secret-project"]}
    nodes = {"/dev/davinci0": {"data": {"owner": "zhangsan", "group": "HwHiAiUser", "mode": "0660"}}}
    others = {"/opt/x": {"data": {"owner": "root", "group": "secret-project"}}}
    clean = Redactor().data({"identity": identity, "stat": {**nodes, **others}})
    assert clean["identity"]["group_names"] == ["root", "HwHiAiUser", "1004", "GROUP"]
    assert clean["identity"]["uid"] == 1000
    assert clean["stat"]["/dev/davinci0"]["data"] == {"owner": "USER", "group": "HwHiAiUser", "mode": "0660"}
    assert clean["stat"]["/opt/x"]["data"] == {"owner": "root", "group": "GROUP"}


def test_a_variable_that_names_the_account_loses_it_unless_every_machine_has_it() -> None:
    env = {"USER": "zhangsan", "LOGNAME": "root", "SUDO_USER": "1004"}
    clean = Redactor().data({"env": {"env": {"data": env}}})["env"]["env"]["data"]
    assert clean == {"USER": "USER", "LOGNAME": "root", "SUDO_USER": "1004"}


def test_variables_of_schedulers_name_no_host_and_no_account() -> None:
    env = {
        "SLURM_JOB_USER": "zhangsan",
        "SLURM_SUBMIT_DIR": "/nfs/store/zhangsan/run",
        "SLURM_NODELIST": "rack-a[17-20],cn03",
        "MASTER_ADDR": "rack-a17.corp.example",
        "RAY_ADDRESS": "ray://rack-a17.corp.example:10001",
        "SLURM_NNODES": "4",
        "HCCL_SOCKET_IFNAME": "eth0",
    }
    redactor = Redactor()
    redactor.learn(env)
    clean = redactor.data({"env": {"env": {"data": env}}})["env"]["env"]["data"]
    assert not [w for w in ("zhangsan", "rack-a", "cn03", "corp") if w in json.dumps(clean)]
    assert clean["MASTER_ADDR"] in clean["RAY_ADDRESS"]
    assert (clean["SLURM_NNODES"], clean["HCCL_SOCKET_IFNAME"]) == ("4", "eth0")


def test_a_path_is_redacted_alike_as_key_and_as_text() -> None:
    path = "/nfs/zhangsan/7.1.0.11/version.info"
    clean = Redactor({"zhangsan": "USER"}).data({"read": {path: {"data": f"LD={path}"}}})
    hidden = "/nfs/USER/7.1.0.11/version.info"
    assert clean == {"read": {hidden: {"data": f"LD={hidden}"}}}


@pytest.mark.parametrize("account", ["torch", "work", "npu"])
def test_an_account_named_like_a_part_of_the_stack_damages_nothing(account: str) -> None:
    text = "/work/npu torch 2.7.1"
    assert Redactor({account: "USER"}).text(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "https://download.pytorch.org/whl/cpu",
        "Version=7.1.0.11",
        "package_version=21.0.3.1",
        "compatible_version_fw=[7.0.0,7.7.99]",
        "| npu-smi 21.0.3.1                     Version: 21.0.3.1                       |",
        "Firmware Version               : 7.1.0.7",
        "| 0                         | 0000:C1:00.0  | 0  0 / 0 |",
    ],
)
def test_versions_and_bus_ids_stay(line: str) -> None:
    assert Redactor().data([line]) == [line]


def test_the_same_secret_gets_the_same_placeholder() -> None:
    one, two, three = Redactor().data(["10.1.1.1", "10.1.1.2", "10.1.1.1"])
    assert one == three
    assert one != two


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("910b3", "| 0     910B3               | OK            |"),
        ("cann-8", "/usr/local/Ascend/cann-8.5.0/version.info"),
        ("trainer", "trainer_state.json"),
        ("gpu-3", "gpu-31 and xgpu-3"),
        ("trainer17", "see trainer170"),
    ],
)
def test_a_host_named_like_something_else_damages_nothing(host: str, text: str) -> None:
    assert Redactor({host: "HOST"}).text(text) == text


def test_a_file_named_after_the_host_keeps_its_ending() -> None:
    assert Redactor({"trainer17": "HOST"}).text("/var/log/trainer17.log") == "/var/log/HOST.log"


@given(st.text())
def test_redaction_takes_any_text_and_is_stable(text: str) -> None:
    redactor = Redactor({"trainer17": "HOST"}, ("/data/home/alice",))
    once = redactor.text(text)
    assert redactor.text(once) == once
