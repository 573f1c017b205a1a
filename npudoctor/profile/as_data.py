"""An analysis as plain data for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from npudoctor.profile.analyse import Analysis


def as_data(analysis: Analysis) -> dict[str, Any]:
    """Nested dicts and lists; times in microseconds, rounded to nanoseconds."""
    data: dict[str, Any] = _round(dataclasses.asdict(analysis))
    data["gap_histogram"] = [
        {"from_us": edge, "count": count, "total_us": round(total, 3)}
        for edge, count, total in analysis.gap_histogram
    ]
    return data


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _round(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round(item) for item in value]
    return value
