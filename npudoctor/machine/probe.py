"""What a probe is, and what it may be told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from npudoctor.machine.host import Host


@dataclass(frozen=True)
class Settings:
    """How to look at a machine.

    Attributes:
        python: the interpreter under diagnosis.
        run_probes: whether child processes may import torch and compute.
        timeout_s: limit for each child that runs the interpreter.
        smi_timeout_s: limit for each call of npu-smi.
        packages: normalised names of the distributions to look up.
    """

    python: str = sys.executable
    run_probes: bool = True
    timeout_s: float = 120.0
    smi_timeout_s: float = 15.0
    packages: tuple[str, ...] = ()


Collect = Callable[[Host, Settings, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Probe:
    """Fills one field of `Machine`.

    Attributes:
        field: name of the field.
        collect: asks the host, parses the answers; gets the fields named in `after`.
        after: fields that must be there first.
    """

    field: str
    collect: Collect
    after: tuple[str, ...] = ()
