"""Questions that several checks share: misused variables, pip lines, an install record that is stale."""

from __future__ import annotations

from npudoctor.check.engine import diagnose
from npudoctor.check.pairs import pip_pair
from npudoctor.core.finding import Severity
from npudoctor.pairing.install import pair_commands
from npudoctor.pairing.table import load
from tests.support import overlays

HOST = "910b-host-ok"
RECORD = {"kind": "read", "target": "/etc/ascend_install.info", "text": "Driver_Install_Status=fail\n"}


def found(code: str, changes: list[dict[str, object]]) -> list[Severity]:
    machine = overlays.facts(overlays.apply(overlays.machine_data(HOST), changes, HOST))
    return [f.severity for root in diagnose(machine, load()).findings for f in root.walk() if f.code == code]


def test_a_stale_install_record_is_a_note_where_every_device_computes() -> None:
    assert found("NPU006", [RECORD]) == [Severity.NOTE]
    unasked = {"kind": "run", "target": "compute", "drop": True}
    assert found("NPU006", [RECORD, unasked]) == [Severity.WARNING]


def test_checks_and_pair_write_the_same_pip_lines() -> None:
    machine = overlays.machine(HOST)
    commands = pip_pair(machine, "2.6.0", "2.6.0")
    python = machine.python.executable
    assert commands == tuple(
        line.replace("python", python, 1) for line in pair_commands("2.6.0", "2.6.0", "aarch64")
    )
    assert "torch==2.6.0+cpu --index-url" in pair_commands("2.6.0", "2.6.0", "x86_64")[0]
