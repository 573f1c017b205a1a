"""From the facts of a machine to the question that `pair` asks for it."""

from __future__ import annotations

from npudoctor.machine.facts import (
    Cann,
    CannInstall,
    Chip,
    Distribution,
    Driver,
    Known,
    Machine,
    NpuSmi,
    Python,
    SmiInfo,
    VersionInfo,
)
from npudoctor.pairing.here import Part, parts_of, query_of


def machine() -> Machine:
    home = "/usr/local/Ascend/cann-8.5.0"
    return Machine(
        driver=Driver(info=Known(VersionInfo("25.3.rc1", {}), "/usr/local/Ascend/driver/version.info")),
        cann=Cann(
            installs=Known((CannInstall(home, "8.5.0", f"{home}/x.info"),)), on_library_path=Known((home,))
        ),
        python=Python(
            executable="/usr/bin/python3",
            version=Known("3.10.14"),
            packages=Known({
                "torch": (Distribution("torch", "2.6.0+cpu", "/site"),),
                "torch-npu": (Distribution("torch_npu", "2.6.0.post5+gitabc", "/site"),),
            }),
        ),
        npu_smi=NpuSmi(info=Known(SmiInfo("25.3", "25.3", (Chip(0, 0, "910B3", "OK"),), ()))),
    )


def test_everything_known() -> None:
    query = query_of(parts_of(machine()))
    assert query.given() == {
        "torch": "2.6.0", "torch_npu": "2.6.0.post5", "cann": "8.5.0", "python": "3.10", "driver": "25.3.RC1",
    }
    assert query.chip == "910b"


def test_nothing_known_asks_nothing() -> None:
    assert parts_of(Machine()) == []
    assert query_of([]).given() == {}


def test_unparsable_versions_are_left_free() -> None:
    parts = [Part("cann", "latest", "x"), Part("driver", "?", "x"), Part("torch", "2.7.1a0+cafe.x", "x")]
    assert query_of(parts).given() == {"torch": "2.7.1a0"}
