"""Which Python, torch and torch_npu are here, does torch import, and does it see an NPU? `probe.py DEVICE`.

Emits `python`, then `torch` or `failed`, then `npu`. Versions are read from the package
metadata first, so they are known even when the import fails.
"""

from __future__ import annotations

import glob
import os
import platform
import sys
import traceback

from npudoctor.smoke_test.children.common import emit, guarded

FALLBACK_VARIABLE = b"TORCH_NPU_FALLBACK_CPU_DISABLE"


def job(args: list[str]) -> int:
    """Emit what is known; a failed import is an answer, not a failure of the probe."""
    emit(
        "python",
        version=platform.python_version(),
        executable=sys.executable,
        packages={name: installed(name) for name in ("torch", "torch_npu", "numpy", "gymnasium")},
        davinci=sorted(glob.glob("/dev/davinci[0-9]*")),
    )
    try:
        import torch
    except BaseException as error:  # a broken backend may raise anything, SystemExit included
        emit("failed", module="torch", error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        return 0
    emit("torch", version=torch.__version__, file=torch.__file__)
    try:
        if args[0] in ("auto", "npu") and not hasattr(torch, "npu") and installed("torch_npu"):
            import torch_npu  # noqa: F401
        report_npu(torch)
    except BaseException as error:
        emit(
            "failed",
            module="torch_npu",
            error=f"{type(error).__name__}: {error}",
            trace=traceback.format_exc(),
        )
    return 0


def report_npu(torch: object) -> None:
    npu = getattr(torch, "npu", None)
    available = bool(npu is not None and npu.is_available())
    count = int(npu.device_count()) if npu is not None and available else 0
    name = npu.get_device_name(0) if npu is not None and available else ""
    emit(
        "npu",
        available=available,
        count=count,
        name=name,
        simulated=bool(getattr(npu, "is_simulated", False)),
        strict_fallback=knows_strict_fallback(),
    )


def installed(package: str) -> str | None:
    """Version of a distribution from its metadata, without importing it."""
    from importlib import metadata

    for name in (package, package.replace("_", "-")):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def knows_strict_fallback() -> bool:
    """Whether this torch_npu can refuse CPU fallbacks: its library then names the variable."""
    file = getattr(sys.modules.get("torch_npu"), "__file__", None)
    if not file:
        return False
    pattern = os.path.join(os.path.dirname(file), "lib", "libtorch_npu*.so")
    return any(_contains(path, FALLBACK_VARIABLE) for path in glob.glob(pattern))


def _contains(path: str, needle: bytes) -> bool:
    import mmap

    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(needle) >= 0


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
