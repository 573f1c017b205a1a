"""The compiled part of torch_npu is for another Python or another processor."""

from __future__ import annotations

from npudoctor.check.api import (
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    cann_in_use,
    evidence,
    pip,
    python_minor,
    set_fixes,
)

TITLE = Text(
    "torch_npu {version} was built for {theirs}, this interpreter is {ours}",
    "torch_npu {version} 面向 {theirs} 构建，而此解释器为 {ours}",
)
CAUSE = Text(
    "its extension module does not carry this interpreter's tag, so Python does not see it; happens when a "
    "site-packages folder is copied or shared between environments",
    "其扩展模块没有此解释器的标签，Python 无法识别；常见于复制或共享 site-packages 目录",
)
FIX = Text("install the wheel for this interpreter", "为此解释器安装对应的 wheel")
OTHER_PYTHON_FIX = Text(
    "torch_npu {version} has no wheel for Python {python}: use it in an environment of Python {supported}",
    "torch_npu {version} 没有适用于 Python {python} 的 wheel：请在 Python {supported} 的环境中使用",
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """File names of torch_npu/_C*.so against the interpreter's SOABI."""
    npu, soabi = machine.python.first("torch-npu"), machine.python.soabi
    if npu is None or not npu.extensions or not soabi:
        return
    if any(soabi in name or name in ("_C.so", "_C.abi3.so") for name in npu.extensions):
        return
    theirs = npu.extensions[0][3:].rsplit(".so", 1)[0]
    minor, named = python_minor(machine), tables.python_for(npu.version).value or ()
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        CAUSE,
        {
            "version": npu.version,
            "theirs": theirs,
            "ours": soabi,
            "python": minor,
            "supported": ", ".join(named),
        },
        fixes=_fixes(machine, tables, npu.version, named),
        evidence=(evidence(f"{npu.location}/torch_npu", npu.extensions[0]),),
    )


def _fixes(machine: Machine, tables: Tables, version: str, named: tuple[str, ...]) -> tuple[Fix, ...]:
    """The right wheel; where the release has none for this Python, another Python or another release."""
    minor = python_minor(machine)
    if not named or minor in named:
        return (Fix(FIX, (f"{pip(machine)} install --force-reinstall --no-deps torch-npu=={version}",)),)
    elsewhere = Fix(OTHER_PYTHON_FIX, (f"conda create -n npu python={named[-1]}",))
    install = cann_in_use(machine)
    kept = set_fixes(machine, tables, python=minor, cann=install.version) if install else ()
    return (elsewhere, *(kept or set_fixes(machine, tables, python=minor)))


CHECK = Check(
    "NPU072",
    "torch-npu-wrong-wheel",
    Text("torch_npu's wheel fits this interpreter", "torch_npu 的 wheel 与解释器一致"),
    needs=("python.packages",),
    run=run,
    applies=lambda m: m.python.first("torch-npu") is not None,
    sources=("https://github.com/Ascend/pytorch/issues/24",),
)
