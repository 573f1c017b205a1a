"""Machines for tests: the recorded ones, and overlays that break one thing in a healthy one.

An overlay (fixtures/overlays/NPU0xx_slug.toml) names its base machine, what `break`s, and
under `fixed` what the finding's own fix `does` and how the facts `change` when it is applied.
"""

from __future__ import annotations

import copy
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from npudoctor.check.run import facts_of
from npudoctor.machine import bundle
from npudoctor.machine.facts import Machine

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
MACHINES = ROOT / "fixtures" / "machines"
OVERLAYS = ROOT / "fixtures" / "overlays"
Data = dict[str, Any]


@cache
def _text(name: str) -> str:
    return (MACHINES / f"{name}.json").read_text(encoding="utf-8")


def machine_data(name: str) -> Data:
    """A fresh copy of the JSON of a recorded machine."""
    data: Data = json.loads(_text(name))
    return data


def machine(name: str) -> Machine:
    return facts(machine_data(name))


def facts(data: Data) -> Machine:
    return facts_of(bundle.from_json(data))


def overlay(code: str) -> Data:
    """The overlay of a check, by its code."""
    (path,) = OVERLAYS.glob(f"{code}_*.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def broken(spec: Data) -> Data:
    """The base machine of an overlay with its `break` applied."""
    return apply(machine_data(spec["base"]), spec["break"], spec["base"])


def fixed(spec: Data) -> Data:
    """The broken machine after the finding's own fix."""
    return apply(broken(spec), spec["fixed"].get("change", []), spec["base"])


def apply(data: Data, changes: list[Data], base: str) -> Data:
    data = copy.deepcopy(data)
    for change in changes:
        _CHANGES[change["kind"]](data["observations"], change, base)
    return data


def _plain(seen: Data, change: Data, base: str) -> None:
    kind, target = change["kind"], change["target"]
    entries = seen.setdefault(kind, {})
    if change.get("drop"):
        entries.pop(target, None)
    elif "error" in change and kind != "run":
        entries[target] = {"error": change["error"]}
    elif kind == "run":
        entries[target] = {k: v for k, v in change.items() if k not in ("kind", "target")}
    else:
        entries[target] = {"data": change["text"] if kind == "read" else change["data"]}


def _env(seen: Data, change: Data, base: str) -> None:
    variables = seen["env"]["env"]["data"]
    variables.update(change.get("set", {}))
    for name in change.get("unset", []):
        variables.pop(name, None)


def _identity(seen: Data, change: Data, base: str) -> None:
    seen["identity"]["identity"]["data"].update({k: v for k, v in change.items() if k != "kind"})


def _node(seen: Data, change: Data, base: str) -> None:
    opened = change["opened"]
    seen["open"][change["target"]] = {"data": "ok"} if opened == "ok" else {"error": opened}


def _packages(seen: Data) -> Data:
    text = _joined(seen["run"]["python packages"]["stdout"])
    told: Data = json.loads(text[len("NPUDOCTOR ") :])
    return told


def _keep_packages(seen: Data, told: Data) -> None:
    seen["run"]["python packages"]["stdout"] = "NPUDOCTOR " + json.dumps(told)


def _package(seen: Data, change: Data, base: str) -> None:
    told = _packages(seen)
    name = change["name"]
    if change.get("absent"):
        told["packages"].pop(name, None)
    else:
        location = "/opt/conda/lib/python3.11/site-packages"
        old = told["packages"].get(name, [{"location": location, "build": change["version"]}])[0]
        new = {
            **old,
            **{k: v for k, v in change.items() if k in ("version", "requires", "extensions", "build")},
        }
        if name == "torch" and "build" not in change:
            new["build"] = change["version"]
        told["packages"][name] = [new] + ([change["copy"]] if "copy" in change else [])
    _keep_packages(seen, told)


def _python(seen: Data, change: Data, base: str) -> None:
    told = _packages(seen)
    told.update({k: v for k, v in change.items() if k != "kind"})
    _keep_packages(seen, told)


def _compute(seen: Data, change: Data, base: str) -> None:
    told: list[Data] = [{"imported": name} for name in change.get("imported", ["torch", "torch_npu"])]
    if len(told) == 2:
        results = change.get("results", [])
        told += [{"available": change.get("available", True)}, {"count": change.get("count", len(results))}]
        told += [{"device": i, "result": r} for i, r in enumerate(results)]
    seen["run"]["compute"] = {
        "exit": change.get("exit", 0),
        "stdout": [f"NPUDOCTOR {json.dumps(t)}" for t in told],
        "stderr": change.get("stderr", ""),
        "seconds": 3.0,
    }


def _plain_import(seen: Data, change: Data, base: str) -> None:
    told = [f"NPUDOCTOR {json.dumps({'imported': name})}" for name in change.get("imported", ["torch"])]
    seen["run"]["import torch, torch_npu without autoload"] = {
        "exit": 1,
        "stdout": told,
        "stderr": change["stderr"],
        "seconds": 2.0,
    }


def _sub(seen: Data, change: Data, base: str) -> None:
    kind, target = change["target"].split(":", 1)
    entry = seen[kind][target]
    field = "stdout" if kind == "run" else "data"
    text = _joined(entry[field])
    assert change["old"] in text, f"{change['old']!r} is not in {target}"
    entry[field] = text.replace(change["old"], change["new"], 1)


def _restore(seen: Data, change: Data, base: str) -> None:
    kind, target = change["target"].split(":", 1)
    seen[kind][target] = machine_data(base)["observations"][kind][target]


def _all(seen: Data, change: Data, base: str) -> None:
    seen.clear()
    seen.update(machine_data(base)["observations"])


def _joined(text: Any) -> str:
    return "\n".join(text) if isinstance(text, list) else str(text)


_CHANGES = {
    "read": _plain,
    "stat": _plain,
    "open": _plain,
    "list": _plain,
    "run": _plain,
    "env": _env,
    "identity": _identity,
    "node": _node,
    "package": _package,
    "python": _python,
    "compute": _compute,
    "plain": _plain_import,
    "sub": _sub,
    "restore": _restore,
    "all": _all,
}
