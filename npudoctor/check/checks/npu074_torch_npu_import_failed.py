"""torch_npu is installed and cannot be imported: tell each known cause apart."""

from __future__ import annotations

import re

from npudoctor.check.api import (
    TOOLKIT_LIBRARY,
    Check,
    Finding,
    Fix,
    Iterable,
    KnownError,
    Machine,
    Relation,
    Severity,
    Tables,
    Text,
    cann_in_use,
    evidence,
    package,
    pip_pair,
    relation_to,
    torch_npu_version,
    value,
    why,
)

TITLE = Text("torch_npu cannot be imported: {error}", "无法导入 torch_npu：{error}")
DEFECT_CAUSE = Text(
    "the build itself is at fault, or of another torch: if torch and torch_npu are a listed pair, "
    "the next post release of the same torch is the way out",
    "该构建本身有缺陷，或属于另一 torch 版本：若二者是已列出的配套，请改用同一 torch 的下一个 post 版本",
)
POST_FIX = Text(
    "install the next release of torch_npu for the same torch", "安装同一 torch 的下一个 torch_npu 版本"
)
_KNOWN = (
    KnownError(
        re.compile(rf"{TOOLKIT_LIBRARY}[\w.]*: cannot open"),
        Text(
            "the loader does not find a library of CANN: CANN is absent, or its set_env.sh was not sourced",
            "加载器找不到 CANN 的库：CANN 未安装，或没有 source 其 set_env.sh",
        ),
        Text(
            "source set_env.sh of CANN in the shell that starts Python",
            "在启动 Python 的终端里 source CANN 的 set_env.sh",
        ),
    ),
    KnownError(
        re.compile(r"libatb\.so[\w.]*: cannot open"),
        Text(
            "libatb.so belongs to NNAL, a package beside CANN with a set_env.sh of its own",
            "libatb.so 属于 NNAL，它是独立于 CANN 的包，有自己的 set_env.sh",
        ),
        Text(
            "install NNAL of the same CANN version and source its set_env.sh",
            "安装同版本的 NNAL 并 source 其 set_env.sh",
        ),
    ),
    KnownError(
        re.compile(r"lib(?:ascend_hal|drvdsmi_host|dcmi|c_sec)\.so[\w.]*: cannot open"),
        Text(
            "a library of the driver is not visible: no driver on this host, or its folder not mounted",
            "看不到驱动的库：主机没有驱动，或驱动目录没有挂载进来",
        ),
        Text(
            "make driver/lib64 visible (in a container: mount it) and source set_env.sh again",
            "让 driver/lib64 可见（容器内需挂载），并重新 source set_env.sh",
        ),
    ),
    KnownError(
        re.compile(r"undefined symbol: (?:_ZN3atb|_ZN3Mki)"),
        Text(
            "NNAL (ATB) is of another release than the one this torch_npu was built for",
            "NNAL（ATB）与构建此 torch_npu 时所用的版本不同",
        ),
        Text(
            "install the NNAL that belongs to the paired CANN and source its set_env.sh",
            "安装与配套 CANN 对应的 NNAL，并 source 其 set_env.sh",
        ),
    ),
    KnownError(
        re.compile(r"undefined symbol: (?:acl|rt[A-Z]|Hccl|hccl|Msprof|_ZN2ge)"),
        Text(
            "this torch_npu needs another CANN than the one that is loaded",
            "此 torch_npu 需要的 CANN 与当前加载的版本不同",
        ),
        Text(
            "use the CANN of this torch_npu's row, or the torch_npu of this CANN's row",
            "改用与此 torch_npu 配套的 CANN，或与此 CANN 配套的 torch_npu",
        ),
    ),
    KnownError(
        re.compile(r"undefined symbol"),
        Text(
            "torch and torch_npu were built for different torch releases: torch_npu fits exactly one",
            "torch 与 torch_npu 是为不同的 torch 版本构建的：每个 torch_npu 只适配一个 torch 版本",
        ),
        Text("install torch and torch_npu as a pair", "成对安装 torch 与 torch_npu"),
    ),
    KnownError(
        re.compile(r"static TLS"),
        Text(
            "the loader has no static thread-local space left for a late library (aarch64, usually libgomp)",
            "加载器没有剩余的静态线程局部空间（aarch64 上常见于较晚加载的 libgomp）",
        ),
        Text(
            "preload the library named in the message: export LD_PRELOAD=<its path>",
            "预加载报错中的库：export LD_PRELOAD=<该库路径>",
        ),
    ),
    KnownError(
        re.compile(r"(?:GLIBCXX|CXXABI|GLIBC)_[\d.]+.*not found"),
        Text(
            "the C++ or C library of this system is older than the one the wheel was built with",
            "系统的 C/C++ 运行库比构建该 wheel 时使用的版本旧",
        ),
        Text(
            "use a newer system or image, or put a newer libstdc++ first on LD_LIBRARY_PATH",
            "使用更新的系统或镜像，或把较新的 libstdc++ 放到 LD_LIBRARY_PATH 最前",
        ),
    ),
    KnownError(
        re.compile(r"Two accelerators"),
        Text(
            "this torch build drives another accelerator, and torch_npu refuses to share",
            "此 torch 构建会驱动另一种加速器，而 torch_npu 不允许共存",
        ),
        Text("install the CPU build of the same torch release", "安装同版本 torch 的 CPU 构建"),
    ),
    KnownError(
        re.compile(r"No module named 'torch_npu\._C'"),
        Text(
            "a folder without the compiled part stands in for the package: a source tree on the path, "
            "or a wheel of another Python",
            "路径上有一个没有编译部分的 torch_npu 目录（源码树，或其他 Python 版本的 wheel）",
        ),
        Text(
            "leave the source tree and take it off PYTHONPATH; reinstall the wheel for this Python",
            "离开源码目录并将其移出 PYTHONPATH；为此 Python 重新安装 wheel",
        ),
    ),
    KnownError(
        re.compile(r"No module named '(?P<module>[\w.]+)'"),
        Text("a Python package that torch_npu imports is missing", "缺少 torch_npu 需要导入的 Python 包"),
        Text("install the missing package into the same interpreter", "在同一解释器中安装缺失的包"),
    ),
    KnownError(
        re.compile(r"AttributeError: (?:partially initialized )?module 'torch"),
        DEFECT_CAUSE,
        Text(
            "install a later post release of torch_npu for the same torch (now {version})",
            "为同一 torch 安装更新的 torch_npu post 版本（当前 {version}）",
        ),
    ),
    KnownError(
        re.compile(r"path permission check failed|permission", re.I),
        Text(
            "torch_npu refuses CANN folders that belong to another user",
            "torch_npu 拒绝使用属于其他用户的 CANN 目录",
        ),
        Text(
            "run as the owner of the CANN folder, or install CANN as this user",
            "以 CANN 目录的属主身份运行，或以当前用户安装 CANN",
        ),
    ),
)
OTHER_CAUSE = Text(
    "the innermost error above names the cause; it is none of the known ones",
    "上面最内层的错误即为原因；它不在已知原因之列",
)
LOOK_FIX = Text("look the whole message up", "查询完整报错")
CRASH_CAUSE = Text(
    "the interpreter died with signal {signal} while importing", "解释器在导入时因信号 {signal} 终止"
)


def run(machine: Machine, tables: Tables) -> Iterable[Finding]:
    """By the innermost exception of the child that imported it."""
    seen = value(machine.probes.torch_npu)
    if seen is None or seen.ok:
        return
    version = torch_npu_version(machine) or "?"
    words = seen.error or (f"signal {seen.signal}" if seen.signal else f"exit {seen.exit}")
    cause, fix = _explain(seen.error, bool(seen.signal))
    yield CHECK.found(
        Severity.ERROR,
        TITLE,
        cause,
        {
            "error": words,
            "version": version,
            "signal": seen.signal,
            "known": cause not in (OTHER_CAUSE, CRASH_CAUSE),
        },
        fixes=(*_later_posts(machine, tables, cause), fix),
        evidence=(
            evidence("import torch_npu", words),
            *(evidence("output", line) for line in seen.tail[-3:] if line.strip() not in words),
        ),
    )


def _later_posts(machine: Machine, tables: Tables, cause: Text) -> tuple[Fix, ...]:
    """The next releases for the same torch, when the build itself may be at fault."""
    torch, version = machine.python.first("torch"), torch_npu_version(machine)
    if cause is not DEFECT_CAUSE or torch is None or version is None:
        return ()
    later = [
        row for row in tables.rows_for_torch(torch.version) if row.on_index and row.version > package(version)
    ]
    install = cann_in_use(machine)
    fitting = [r for r in later if install and relation_to(tables, r, install) is not Relation.OUTSIDE]
    return tuple(
        Fix(POST_FIX, pip_pair(machine, row.torch, row.torch_npu)) for row in (fitting or later)[::-1][:1]
    )


def _explain(error: str, crashed: bool) -> tuple[Text, Fix]:
    unknown = CRASH_CAUSE if crashed and not error else OTHER_CAUSE
    return why(error, _KNOWN) or (unknown, Fix(LOOK_FIX, ("npudoctor explain -",)))


CHECK = Check(
    "NPU074",
    "torch-npu-import-failed",
    Text("torch_npu can be imported", "可以导入 torch_npu"),
    needs=("probes.torch_npu",),
    run=run,
    explained_by=tuple(
        "NPU003 NPU005 NPU030 NPU031 NPU032 NPU033 NPU034 NPU035 NPU036 NPU041 NPU042 NPU050 "
        "NPU061 NPU062 NPU063 NPU071 NPU072 NPU073 NPU089".split()
    ),
    sources=("https://github.com/Ascend/pytorch/blob/master/docs/zh/installation_guide/faq.md",),
)
