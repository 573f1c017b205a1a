"""A trace reduced to what a page can draw: lanes of intervals, short neighbours merged."""

from __future__ import annotations

from typing import Any

from npudoctor.profile.model import ON_DEVICE, Columns, Kind, Trace

LIMIT = 30000
_LANES = (
    ("device", ON_DEVICE),
    ("sync", (Kind.SYNC,)),
    ("host", (Kind.HOST_OP,)),
    ("marks", (Kind.ANNOTATION,)),
)


def lanes(trace: Trace, limit: int = LIMIT) -> list[dict[str, Any]]:
    """Lanes of `[start us, duration us, name index, how many were merged]`, and their names.

    At most `limit` intervals per lane: neighbours closer than the resolution this needs are
    drawn as one, named after the longest of them.
    """
    result = []
    for title, kinds in _LANES:
        columns = trace.columns.of(*kinds)
        if len(columns):
            boxes = _merge(columns, limit)
            used = sorted({name for _, _, name, _ in boxes})
            index = {name: i for i, name in enumerate(used)}
            result.append(
                {
                    "title": title,
                    "names": [trace.names[name] for name in used],
                    "boxes": [[round(s, 2), round(d, 2), index[n], c] for s, d, n, c in boxes],
                }
            )
    return result


def _merge(columns: Columns, limit: int) -> list[tuple[float, float, int, int]]:
    resolution = 0.0
    if len(columns) > limit:
        resolution = float(columns.end.max() - columns.start.min()) / limit
    boxes: list[tuple[float, float, int, int]] = []
    open_start = open_end = longest = 0.0
    name, count = -1, 0
    for start, end, label in zip(columns.start.tolist(), columns.end.tolist(), columns.name.tolist()):
        if count and start < open_end + resolution and (resolution or start < open_end):
            open_end = max(open_end, end)
            count += 1
        else:
            if count:
                boxes.append((open_start, open_end - open_start, name, count))
            open_start, open_end, longest, count = start, end, -1.0, 1
        if end - start > longest:
            longest, name = end - start, label
    if count:
        boxes.append((open_start, open_end - open_start, name, count))
    return boxes
