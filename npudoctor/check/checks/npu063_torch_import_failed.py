"""torch itself does not import, with backend autoload switched off."""

from __future__ import annotations

import re

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    KnownError,
    Machine,
    Severity,
    Tables,
    Text,
    evidence,
    pip,
    said,
    value,
    why,
)

TITLE = Text("torch cannot be imported: {error}", "无法导入 torch：{error}")
TLS_CAUSE = Text(
    "the loader has no static thread-local space left for a late library (aarch64, usually libgomp)",
    "加载器没有剩余的静态线程局部空间（aarch64 上常见于 libgomp）",
)
TLS_FIX = Text("preload the library that the message names", "预加载报错中的库")
LIBC_CAUSE = Text(
    "this system's C or C++ library is older than the wheel wants", "系统的 C/C++ 运行库比 wheel 要求的旧"
)
LIBC_FIX = Text("use a newer system or image, or an older torch", "使用更新的系统或镜像，或更旧的 torch")
OTHER_CAUSE = Text(
    "the fault lies in the torch installation, not in the NPU stack",
    "问题在 torch 的安装本身，与 NPU 软件栈无关",
)
OTHER_FIX = Text("install torch again in a fresh environment", "在新环境中重新安装 torch")
_KNOWN = (
    KnownError(
        re.compile("static TLS"),
        TLS_CAUSE,
        TLS_FIX,
        ("export LD_PRELOAD=<path of the libgomp in the message>",),
    ),
    KnownError(re.compile(r"(?:GLIBCXX|CXXABI|GLIBC)_[\d.]+"), LIBC_CAUSE, LIBC_FIX, ("ldd --version",)),
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """The innermost exception of the plain import."""
    seen = value(machine.probes.torch_plain)
    if seen is None or seen.ok:
        return
    words = seen.error or (f"signal {seen.signal}" if seen.signal else f"exit {seen.exit}")
    again = f"{pip(machine)} install --force-reinstall --no-deps torch"
    cause, fix = why(words, _KNOWN) or (OTHER_CAUSE, Fix(OTHER_FIX, (again,)))
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        cause,
        {"error": words},
        fixes=(fix,),
        evidence=(evidence("import torch", words), *said(seen.tail, 2)),
    )


CHECK = Check(
    "NPU063",
    "torch-import-failed",
    Text("torch itself can be imported", "torch 本身可以导入"),
    needs=("probes.torch_plain",),
    run=run,
    explained_by=("NPU061",),
    sources=("https://github.com/Ascend/pytorch/issues/7",),
)
