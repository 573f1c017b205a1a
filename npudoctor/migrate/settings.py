"""What a run of the codemod was asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STYLES = ("npu", "portable")
DEFAULT_TORCH_NPU = "2.13.0"


@dataclass(frozen=True)
class Settings:
    """Options that change what the rules do.

    Attributes:
        style: `npu` (device "npu") or `portable` (npu if available, else cuda, else cpu).
        torch_npu: target version, as named in the API table (`2.7.1`, `2.1.0.post17`).
        unsafe: apply edits whose safety is UNSAFE.
        select, ignore: codes or prefixes of codes (`NPU2`); an empty `select` means all.
        per_file_ignores: path glob -> codes, as in the configuration file.
        max_rounds: rewriting rounds before a file is given up as unstable.
    """

    style: str = "npu"
    torch_npu: str = DEFAULT_TORCH_NPU
    unsafe: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_rounds: int = 8

    @property
    def portable(self) -> bool:
        """Whether the result must still run on CUDA and on the CPU."""
        return self.style == "portable"

    def enabled(self, code: str) -> bool:
        """Whether a rule was selected and not ignored."""
        chosen = not self.select or code.startswith(self.select)
        return chosen and not (self.ignore and code.startswith(self.ignore))
