"""The CANN in use lacks a part that torch_npu demands."""

from __future__ import annotations

import re

from npudoctor.check.api import (
    TOOLKIT_LIBRARY,
    Check,
    Finding,
    Fix,
    Iterable,
    Machine,
    Severity,
    Tables,
    Text,
    cann_in_use,
    device_works,
    evidence,
    import_error,
    value,
)

TITLE = Text("CANN at {home} is incomplete: {missing} is missing", "{home} 的 CANN 不完整：缺少 {missing}")
CAUSE = Text(
    "torch_npu looks for these folders under ASCEND_HOME_PATH and stops at import without them; a "
    "runtime-only package (nnrt) or an interrupted installation lacks them",
    "torch_npu 会在 ASCEND_HOME_PATH 下查找这些目录，缺少则导入失败；仅含运行时的包（nnrt）或中断的安"
    "装会缺少它们",
)
LOADED_CAUSE = Text(
    "its set_env.sh is sourced and the loader still does not find this library: the installation was "
    "interrupted, holds only part of the toolkit, or its libraries lie in a folder that LD_LIBRARY_PATH "
    "does not name",
    "已 source 其 set_env.sh，但加载器仍找不到该库：安装曾中断、只装了 toolkit 的一部分，"
    "或库所在目录不在 LD_LIBRARY_PATH 中",
)
FIND_FIX = Text(
    "see whether the library is there at all; if so, source set_env.sh again in a new shell",
    "先确认该库是否存在；若存在，请在新终端里重新 source set_env.sh",
)
FIX = Text("install the whole toolkit package of CANN {cann} again", "重新安装完整的 CANN {cann} toolkit 包")
LIBRARY = re.compile(rf"({TOOLKIT_LIBRARY})[\w.]*: cannot open shared object file")


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """`runtime` and `compiler` under the home of the install in use, and what the loader did not find."""
    install = cann_in_use(machine)
    if install is None or not install.parts or device_works(machine):
        return
    missing = [part for part in ("runtime", "compiler") if part not in install.parts]
    again = Fix(
        FIX,
        (f"./Ascend-cann-toolkit_{install.version}_linux-{install.arch or '<arch>'}.run --install",),
        needs_root=True,
    )
    params = {"home": install.home, "missing": ", ".join(missing), "cann": install.version}
    if missing:
        where = evidence(install.home, ", ".join(sorted(install.parts)))
        yield CHECK.found(Severity.ERROR, TITLE, CAUSE, params, fixes=(again,), evidence=(where,))
        return
    library = LIBRARY.search(import_error(machine))
    sourced = install.home in value(machine.cann.on_library_path, ())
    if library is None or not sourced or install.arch not in ("", value(machine.os.arch)):
        return  # another check knows why
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        LOADED_CAUSE,
        {**params, "missing": library.group(1)},
        fixes=(Fix(FIND_FIX, (f"find -L {install.home} -name '{library.group(1)}*'",)), again),
        evidence=(evidence("import torch_npu", import_error(machine)),),
    )


CHECK = Check(
    "NPU033",
    "cann-partial",
    Text("CANN is complete", "CANN 完整"),
    needs=("cann.installs",),
    run=run,
    applies=lambda m: cann_in_use(m) is not None,
    sources=("https://github.com/Ascend/pytorch/blob/master/torch_npu/_init/registry/registry_manager.py",),
)
