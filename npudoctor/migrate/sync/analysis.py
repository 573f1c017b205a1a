"""Everything the sync rules know about one module, computed once and shared by them."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING

from npudoctor.migrate.callgraph import heat_for
from npudoctor.migrate.kinds import Kind
from npudoctor.migrate.loops import Heat, Loops
from npudoctor.migrate.sync.catalogue import CONTROL, DEBUG, Catalogue, Read
from npudoctor.migrate.sync.devices import Devices
from npudoctor.migrate.sync.drain import Drain, Drains
from npudoctor.migrate.sync.forms import ScalarRead
from npudoctor.migrate.sync.hidden import Hidden, Wait
from npudoctor.migrate.sync.hostbuffer import HostBuffers, Step
from npudoctor.migrate.sync.index import Indices, Upload
from npudoctor.migrate.sync.pack import Pack, Packs
from npudoctor.migrate.sync.rows import Row, Rows
from npudoctor.migrate.sync.validation import is_test_path
from npudoctor.migrate.sync.values import Values

if TYPE_CHECKING:
    from npudoctor.migrate.context import ModuleContext

# Values that environments and NumPy hand out on the host.
_HOST_WORDS = re.compile(
    r"\bnp\.|numpy|info|\['?[a-z]'?\]|\bdones?\b|\breward|\baction_space|\bobservation_space"
)


TELL_FROM = 3  # shorter rows that cannot be joined are not worth a finding of their own


class Analysis:
    """Loops, values, and the proofs and refusals of one module."""

    def __init__(self, ctx: ModuleContext) -> None:
        self.ctx = ctx
        self.loops = Loops(ctx, heat_for(ctx.project, ctx.path))
        self.values = Values(ctx)
        self.devices = Devices(ctx, self.values)

    @property
    def is_test(self) -> bool:
        """Whether the module is a test; tests are rewritten where that is safe, never reported."""
        return is_test_path(self.ctx.path)

    @functools.cached_property
    def drains(self) -> list[Drain]:
        """Reads collected in a loop and used after it."""
        return Drains(self.ctx, self.loops, self.values).find()

    @functools.cached_property
    def uploads(self) -> list[Upload]:
        """NumPy indices used on several tensors."""
        return Indices(self.ctx, self.values, self.devices).find()

    @functools.cached_property
    def rows(self) -> list[Row]:
        """Scalar reads in a row; those that a drain moves out of a loop are not among them."""
        taken: set[ast.AST] = {s.read.node for d in self.drains if d.refusal is None for s in d.sites}
        return Rows(self.ctx, self.values, self.devices, taken).find()

    def told(self, row: Row) -> tuple[ScalarRead, ...]:
        """The reads of a row that are told together: those that can be joined, or all of a long row."""
        if row.joint:
            return row.joint
        collected = {s.read.node for d in self.drains for s in d.sites}  # told by NPU201 and NPU202
        maybe = tuple(r for r in row.reads if r.node not in collected and self.may_be_tensor(r))
        return maybe if len(maybe) >= TELL_FROM else ()

    @functools.cached_property
    def _catalogue(self) -> Catalogue:
        claimed: set[ast.AST] = {s.read.node for d in self.drains for s in d.sites}
        claimed |= {r.node for row in self.rows for r in self.told(row)}
        return Catalogue(self.ctx, self.loops, self.values, claimed)

    @functools.cached_property
    def reads(self) -> list[Read]:
        """Hot reads that no other rule tells of."""
        if self.is_test:
            return []  # a test may read what it likes
        found = self._catalogue.find()
        return [r for r in found if r.proved or self.looks_like_tensor(r.value)]

    @functools.cached_property
    def copies(self) -> list[list[Read]]:
        """Copies to the host that stand in one block of something hot, two or more each."""
        groups: dict[ast.AST | None, list[Read]] = {}
        for read in self.reads:
            if (
                read.kind == "array"
                and read.use not in (DEBUG, CONTROL)
                and read.heat in (Heat.STEP, Heat.MINIBATCH)
            ):
                groups.setdefault(self.ctx.parent(self.ctx.statement(read.node)), []).append(read)
        return [group for group in groups.values() if len(group) > 1]

    @functools.cached_property
    def packs(self) -> list[Pack]:
        """Copies to the host that can share one transfer."""
        return [] if self.is_test else Packs(self.ctx, self.loops, self.values).find()

    @functools.cached_property
    def host_buffers(self) -> list[Step]:
        """Per-step uploads into device buffers."""
        return HostBuffers(self.ctx, self.loops, self.values, self.devices).find()

    @functools.cached_property
    def waits(self) -> list[Wait]:
        """Hidden waits in hot places."""
        return [] if self.is_test else Hidden(self.ctx, self.loops, self.values).find()

    def invariant(self, read: Read) -> bool:
        """Whether the value read does not change inside the loop around the read."""
        return self._catalogue.invariant_in(read) is not None

    def may_be_tensor(self, read: ScalarRead) -> bool:
        """Whether a scalar read could touch the device: not proved, but nothing speaks against it.

        NumPy values have `.item()` too; `float()` and its kin take anything.
        """
        if self.values.of(read.value).tensor:
            return True
        return read.form == "item" and self.looks_like_tensor(read.value)

    def looks_like_tensor(self, value: ast.expr) -> bool:
        """Whether nothing speaks against `value`, of which `.item()` is asked, being a tensor."""
        if not self.ctx.imports_torch or self.values.rivals:
            return False
        if self.ctx.kind(value) not in (Kind.UNKNOWN, Kind.TENSOR):
            return False
        return not _HOST_WORDS.search(ast.unparse(value))


def analyse(ctx: ModuleContext) -> Analysis:
    """The analysis of `ctx`, made once per context."""
    if "sync analysis" not in ctx.memo:
        ctx.memo["sync analysis"] = Analysis(ctx)
    known: Analysis = ctx.memo["sync analysis"]
    return known
