"""Decide what an event of a trace is, from the patterns in data/profile_events.tsv."""

from __future__ import annotations

import functools
import re

from npudoctor import tables
from npudoctor.profile.model import Kind

IGNORED = "ignored"
_CLASS = re.compile(r"[A-Z]\w*")
PHASES = ("env", "inference", "transfer", "update")
_KINDS = {
    "device": Kind.DEVICE,
    "device_copy": Kind.COPY,
    "communication": Kind.COMMUNICATION,
    "host_op": Kind.HOST_OP,
    "runtime": Kind.RUNTIME,
    "launch": Kind.LAUNCH,
    "sync": Kind.SYNC,
    "python": Kind.PYTHON,
    "annotation": Kind.ANNOTATION,
}


@functools.cache
def _patterns(scope: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = tables.load("profile_events").rows
    return tuple((row["kind"], re.compile(row["pattern"])) for row in rows if row["scope"] == scope)


@functools.lru_cache(maxsize=65536)
def match(scope: str, text: str) -> str | None:
    """The first kind whose pattern of this scope matches the whole text."""
    for kind, pattern in _patterns(scope):
        if pattern.fullmatch(text):
            return kind
    return None


@functools.lru_cache(maxsize=65536)
def kind_of(category: str, process: str, name: str) -> Kind | None:
    """What an event is: by category first, then by the process it is filed under; None to skip it."""
    coarse = match("category", category) or match("process", process)
    if coarse in (None, IGNORED):
        return None
    refined = None
    if coarse == "device":
        refined = match("device_name", name)
        if refined == "aicpu":
            refined = None
    elif coarse == "runtime":
        refined = match("runtime_name", name)
    elif coarse == "host_op":
        refined = "sync" if match("host_op_name", name) == "sync" else _mark(name)
    elif coarse == "annotation":
        refined = "sync" if match("annotation_name", name) == "sync" else None
    if refined == IGNORED:
        return None
    return _KINDS[refined or coarse]


def _mark(name: str) -> str | None:
    """What a known mark among the operators is: `annotation`, `sync`, or None for an operator.

    torch_npu files record_function ranges and step marks under the category of operators. An operator has
    a namespace; a bare word with a capital is the class of an `autograd.Function` or a node of the graph.
    """
    if "::" in name or _CLASS.fullmatch(name):
        return None
    found = match("annotation_name", name)
    return found if found in (None, "sync") else "annotation"


@functools.lru_cache(maxsize=65536)
def on_aicpu(name: str) -> bool:
    """Whether a kernel's name carries the AI CPU mark."""
    return any(kind == "aicpu" and pattern.fullmatch(name) for kind, pattern in _patterns("device_name"))


@functools.lru_cache(maxsize=65536)
def phase_of(kind: Kind, name: str) -> str | None:
    """The phase of the training loop that a Python frame or an annotation marks, if any."""
    scope = {Kind.PYTHON: "python_name", Kind.ANNOTATION: "annotation_name"}.get(kind)
    found = match(scope, name) if scope else None
    return found if found in PHASES else None


def is_step(name: str) -> bool:
    """Whether an annotation is the profiler's own step mark."""
    return match("annotation_name", name) == "step"
