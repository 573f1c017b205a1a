"""From a recorder's counts to the numbers of a report: plain data, ready for JSON."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from npudoctor.simulate.sites import Site, describe, kind_of

SCHEMA = "npudoctor.simulate/1"
PATHS_KEPT = 5
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def summarise(recorder: Any) -> dict[str, Any]:
    """Totals, and one entry per line of the user's code, the line with most syncs first.

    Returns:
        `simulated` is always true: no number here was measured on an NPU.
    """
    recorder.fold()
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    kinds: Counter = Counter()
    for (_, cause, where, path), times in recorder.syncs.items():
        path = tuple(position for position in path if not _ours(recorder, position))
        sites = tuple(_site(recorder, position) for position in path)
        kind = kind_of(cause, sites[0], sites) if sites else cause
        entry = _line(lines, recorder, where)
        entry["syncs"] += times
        entry["kinds"][kind] += times
        entry["paths"][_render(sites, where and _site(recorder, where))] += times
        kinds[kind] += times
    operators: Counter = Counter()
    for (name, where, _), times in recorder.kernels.items():
        entry = _line(lines, recorder, where)
        entry["kernels"] += times
        entry["operators"][name] += times
        operators[name] += times
    _add_transfers(lines, recorder)
    for where, peak in recorder.peak_by_line.items():
        _line(lines, recorder, where)["peak_bytes"] += peak
    ordered = sorted(lines.values(), key=lambda e: (-e["syncs"], -e["kernels"], e["path"], e["line"]))
    return {
        "schema": SCHEMA,
        "simulated": True,
        "totals": _totals(recorder, kinds, operators),
        "lines": [_plain(entry) for entry in ordered],
        "phases": _phases(recorder),
        "limits": _limits(recorder),
        "notes": dict(sorted(recorder.notes.items())),
    }


def _limits(recorder: Any) -> list[dict[str, Any]]:
    """What the real device would refuse or do elsewhere, by row of the table, operator, type and line."""
    found = []
    for (key, operator, dtype, where), times in recorder.limits.most_common():
        site = _site(recorder, where) if where is not None else None
        found.append({"key": key, "operator": operator, "dtype": dtype, "times": times,
                      "path": _short(site.path) if site else "?", "line": site.line if site else 0})
    return found


def _phases(recorder: Any) -> dict[str, dict[str, int]]:
    """Counts per phase; what no mark followed is `end` after the last one, `setup` if there was none."""
    phases = {name: dict(sorted(counts.items())) for name, counts in recorder.phases.items()}
    if recorder.pending:
        phases["end" if phases else "setup"] = dict(sorted(recorder.pending.items()))
    return phases


def _totals(recorder: Any, kinds: Counter, operators: Counter) -> dict[str, Any]:
    totals: dict[str, Any] = {
        "syncs": sum(kinds.values()), "syncs_by_kind": dict(kinds.most_common()),
        "kernels": sum(operators.values()), "operators": dict(operators.most_common()),
        "env_steps": recorder.steps,
    }
    for direction in ("h2d", "d2h"):
        moved = [(n, key[1] * n) for key, n in recorder.transfers.items() if key[0] == direction]
        totals[direction] = {"times": sum(m[0] for m in moved), "bytes": sum(m[1] for m in moved)}
    totals["memory"] = {
        f"npu:{code >> 32}": {"now_bytes": now, "peak_bytes": peak}
        for code, (now, peak) in recorder.memory.items()
    }
    if recorder.steps:
        for name in ("syncs", "kernels"):
            totals[f"{name}_per_env_step"] = round(totals[name] / recorder.steps, 3)
    return totals


def _add_transfers(lines: dict, recorder: Any) -> None:
    for (direction, nbytes, where, blocking), times in recorder.transfers.items():
        entry = _line(lines, recorder, where)
        entry[direction] += times
        entry[direction + "_bytes"] += nbytes * times
        if not blocking:
            entry["non_blocking"] += times


def _ours(recorder: Any, position: Any) -> bool:
    return str(recorder.codes[position[0]].co_filename).startswith(_HERE)


def _site(recorder: Any, position: Any) -> Site:
    return describe(recorder.codes[position[0]], position[1])


def _line(lines: dict, recorder: Any, where: Any) -> dict[str, Any]:
    site = _site(recorder, where) if where is not None else Site("?", 0, "", "", "", "", "")
    key = (site.path, site.line)
    if key not in lines:
        lines[key] = {
            "path": site.path, "line": site.line, "function": site.function, "text": site.text,
            "syncs": 0, "kinds": Counter(), "paths": Counter(), "kernels": 0, "operators": Counter(),
            "h2d": 0, "h2d_bytes": 0, "d2h": 0, "d2h_bytes": 0, "non_blocking": 0, "peak_bytes": 0,
        }
    return lines[key]


def _render(sites: tuple[Site, ...], user: Site | None) -> tuple[str, ...]:
    """The call path as `file:line function`, from the line of the user to the place that waits."""
    names = []
    for site in sites:
        names.append(f"{_short(site.path)}:{site.line} {site.function}")
        if site == user:
            break
    return tuple(reversed(names))


def _short(path: str) -> str:
    parts = path.split(os.sep)
    if "site-packages" in parts:
        return "/".join(parts[parts.index("site-packages") + 1 :])
    return os.path.relpath(path) if not os.path.relpath(path).startswith("..") else path


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    plain = dict(entry)
    plain["path"] = _short(entry["path"])
    plain["file"] = entry["path"]
    plain["kinds"] = dict(entry["kinds"].most_common())
    plain["operators"] = dict(entry["operators"].most_common())
    plain["paths"] = [
        {"calls": list(path), "times": times} for path, times in entry["paths"].most_common(PATHS_KEPT)
    ]
    return plain
