"""Judge the operator comparison: what cannot run, what is wrong, what fell back, which dtypes work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Fix, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test.child import Event
from npudoctor.smoke_test.stage import Outcome, failed, passed

# Relative to the largest reference value. Twice the largest error that the CPU itself shows
# on these rows in these types over six seeds (1.4e-2 and 2.7e-3 on 2026-11-30, torch 2.13.0).
LOW_PRECISION_RTOL = {"bfloat16": 3e-2, "float16": 6e-3}
_STRICT_URL = (
    "https://github.com/Ascend/pytorch/blob/0269235beaaebbe307fc35b6a74c82dfd4cbbfb2/docs/zh/api/"
    "environment_variable/op_execution/TORCH_NPU_FALLBACK_CPU_DISABLE.md"
)
_TOLERANCE_URL = "https://github.com/Ascend/pytorch/blob/aa53f459688f29f61838bc473e48b00ff07979b5/torch_npu/testing/testcase.py"
_BF16_URL = "https://github.com/hiyouga/LlamaFactory/issues/7489"

_PASSED = Text(
    "{count} operators agree with {reference}; the worst, {worst_op}, uses {worst} of its tolerance; "
    "types: {dtypes}",
    "{count} 个算子与 {reference} 一致；最差的 {worst_op} 用掉其容差的 {worst}；可用类型：{dtypes}",
)
_WRONG = Text(
    "{count} of {total} operators disagree with {reference}: {ops}",
    "{total} 个算子中有 {count} 个与 {reference} 不一致：{ops}",
)
_WRONG_CAUSE = Text(
    "{first} is off by {error:.2e} of its largest value; {limit:.0e} is allowed. Products that are off by "
    "1e-4 to "
    "1e-2 point to a reduced-precision mode such as HF32; more than that is a wrong kernel",
    "{first} 的误差为其最大值的 {error:.2e}，允许 {limit:.0e}。矩阵乘误差在 1e-4 到 1e-2 之间说明启用了 "
    "HF32 等"
    "低精度模式；更大则说明算子本身有误",
)
_WRONG_FIX = Text(
    "set torch.npu.matmul.allow_hf32 = False and try again; if the error stays, check the pairing of CANN "
    "and torch_npu",
    "设置 torch.npu.matmul.allow_hf32 = False 后重试；若误差仍在，请检查 CANN 与 torch_npu 的配套",
)
_RAISED = Text(
    "{count} of {total} operators cannot run: {ops}", "{total} 个算子中有 {count} 个无法运行：{ops}"
)
_RAISED_CAUSE = Text("{first} said: {message}", "{first} 报错：{message}")
_RAISED_FIX = Text(
    "check that the operator package of this chip is installed beside the CANN toolkit",
    "检查与该芯片对应的算子包是否与 CANN toolkit 一同安装",
)
_FALLBACK = Text("computed on the CPU instead of the device: {ops}", "在 CPU 而非设备上执行的算子：{ops}")
_FALLBACK_CAUSE = Text(
    "there is no NPU kernel for them: each call copies its inputs to the host, computes there and copies "
    "back, two "
    "transfers and a sync. Only these operators are affected; everything else runs on the device",
    "它们没有 NPU 实现：每次调用都把输入拷回主机计算再拷回设备，即两次传输加一次同步。仅这些算子受影响，其"
    "余仍在设备上运行",
)
_FALLBACK_FIX = Text(
    "keep them out of the inner loop, or use an operator that has a kernel",
    "不要放在内层循环中，或改用有 NPU 实现的算子",
)
_NO_DTYPE = Text("{dtype} does not work on this device", "该设备不支持 {dtype}")
_NO_DTYPE_CAUSE = Text(
    "{count} of {total} operators refuse {dtype} ({first}: {message}), while float32 works. {why}",
    "{total} 个算子中有 {count} 个不接受 {dtype}（{first}：{message}），而 float32 正常。{why}",
)
_OLD_CHIP = Text(
    "Chips before the 910B generation, the 310P among them, have no bfloat16",
    "910B 之前的芯片（如 310P）没有 bfloat16",
)
_SOME_DTYPE = Text("cannot run in {dtype}: {ops}", "无法以 {dtype} 运行：{ops}")
_UNSIMULATED = Text("operators that the simulated NPU lacks: {ops}", "模拟 NPU 缺少的算子：{ops}")
_UNSIMULATED_CAUSE = Text(
    "this is a limit of the simulation ({message}) and says nothing about hardware",
    "这是模拟的局限（{message}），与硬件无关",
)
_NO_DTYPE_FIX = Text(
    "train in float32, or in float16 with loss scaling", "使用 float32 训练，或使用带 loss scaling 的 float16"
)
_LOOSE = Text("{dtype} is less exact than on the CPU: {ops}", "{dtype} 的精度低于 CPU：{ops}")
_LOOSE_CAUSE = Text(
    "{first} is off by {error:.2e} of its largest value; {limit:.0e} is twice what the CPU shows in {dtype}",
    "{first} 的误差为其最大值的 {error:.2e}；{limit:.0e} 是 CPU 在 {dtype} 下误差的两倍",
)
_LOOSE_FIX = Text(
    "compute log-probabilities in float32 on both sides of the ratio", "比率两侧的对数概率都用 float32 计算"
)


def judge(
    code: str,
    ops: Sequence[Event],
    fallen: Sequence[str],
    *,
    strict: bool,
    kind: str,
    log: tuple[str, ...] = (),
) -> Outcome:
    """The verdict over all `op` events of the child.

    Args:
        fallen: operators that computed on the CPU although the device was asked for.
        strict: fallbacks were refused by torch_npu itself, so none went unseen.
        kind: `npu`, `cpu` or `sim`; on the CPU the reference is float64.
    """
    missing = {e["op"]: e for e in ops if kind == "sim" and "NotImplementedError" in str(e.get("error"))}
    ops = [e for e in ops if e["op"] not in missing]
    plain = [e for e in ops if e["dtype"] == "float32"]
    bad = [e for e in plain if e.get("error")]
    wrong = sorted((e for e in plain if not e.get("error") and excess(e) > 1), key=excess, reverse=True)
    low = {dtype: [e for e in ops if e["dtype"] == dtype] for dtype in LOW_PRECISION_RTOL}
    works = {dtype: bool(events) and not any(e.get("error") for e in events) for dtype, events in low.items()}
    params: dict[str, Any] = {
        "total": len(plain), "reference": "CPU float64" if kind == "cpu" else "CPU float32",
    }
    facts = {
        "operators": len(plain), "reference": params["reference"], "strict_fallback": strict,
        "fallbacks": list(fallen), "not_simulated": sorted(missing),
        "dtypes": {"float32": not bad, "int64": not bad, "bool": not bad, **works},
        "errors": {f"{e['op']}/{e['dtype']}": e.get("error") or largest(e) for e in ops},
    }
    notes = (*_unsimulated(code, missing), *_fallbacks(code, fallen, strict), *_low_precision(code, low))
    if bad or wrong:
        finding = _failure(code, bad, wrong, params, kind)
        said = (f"{e['op']} ({e['dtype']}): {e['error']}" for e in ops if e.get("error"))
        outcome = failed(Phrase(finding.title, finding.params), finding, findings=notes, facts=facts)
        return replace(outcome, log=(*log, *said))
    worst = max(plain, key=excess)
    dtypes = ["float32", "int64", "bool", *(d for d, ok in works.items() if ok)]
    params.update(
        count=len(plain), worst=f"{excess(worst):.1%}", worst_op=worst["op"], dtypes=", ".join(dtypes)
    )
    return passed(_PASSED, params, findings=notes, facts=facts)


def largest(event: Event) -> float:
    """The larger of the forward and the backward error."""
    return max(float(event["forward"]), float(event["backward"] or 0.0))


def excess(event: Event) -> float:
    """Error over tolerance; a tolerance of zero asks for equal bits."""
    error, limit = largest(event), float(event["rtol"])
    if limit > 0:
        return error / limit
    return 0.0 if error == 0 else float("inf")


def _failure(code: str, bad: list[Event], wrong: list[Event], params: dict[str, Any], kind: str) -> Finding:
    if bad:
        params.update(count=len(bad), ops=_names(bad), first=bad[0]["op"], message=sentence(bad[0]))
        fixes = (Fix(_RAISED_FIX, ("npudoctor check",)),) if kind == "npu" else ()
        return Finding(
            code,
            "operator-missing",
            Severity.ERROR,
            _RAISED,
            _RAISED_CAUSE,
            params=params,
            evidence=_quoted(bad),
            fixes=fixes,
            sources=(_TOLERANCE_URL,),
        )
    params.update(
        count=len(wrong),
        ops=_names(wrong),
        first=wrong[0]["op"],
        error=largest(wrong[0]),
        limit=float(wrong[0]["rtol"]),
    )
    fixes = (Fix(_WRONG_FIX, ("npudoctor check",)),) if kind == "npu" else ()
    return Finding(
        code,
        "operator-wrong",
        Severity.ERROR,
        _WRONG,
        _WRONG_CAUSE,
        params=params,
        evidence=_quoted(wrong),
        fixes=fixes,
        sources=(_TOLERANCE_URL,),
    )


def _fallbacks(code: str, fallen: Sequence[str], strict: bool) -> Iterator[Finding]:
    if fallen:
        params = {"count": len(fallen), "ops": ", ".join(fallen[:6]), "strict": strict}
        yield Finding(
            code,
            "cpu-fallback",
            Severity.WARNING,
            _FALLBACK,
            _FALLBACK_CAUSE,
            params=params,
            fixes=(Fix(_FALLBACK_FIX),),
            sources=(_STRICT_URL,),
        )


def _unsimulated(code: str, missing: Mapping[str, Event]) -> Iterator[Finding]:
    if missing:
        params = {
            "count": len(missing),
            "ops": ", ".join(missing),
            "message": sentence(next(iter(missing.values()))),
        }
        yield Finding(code, "not-simulated", Severity.NOTE, _UNSIMULATED, _UNSIMULATED_CAUSE, params=params)


def _low_precision(code: str, low: dict[str, list[Event]]) -> Iterator[Finding]:
    for dtype, events in low.items():
        refused = [e for e in events if e.get("error")]
        limit = LOW_PRECISION_RTOL[dtype]
        loose = [e for e in events if not e.get("error") and largest(e) > limit]
        params: dict[str, Any] = {"dtype": dtype, "total": len(events), "limit": limit}
        if refused:
            yield _refused(code, refused, params)
        elif loose:
            worst = max(loose, key=largest)
            params.update(count=len(loose), ops=_names(loose), first=worst["op"], error=largest(worst))
            fix = (Fix(_LOOSE_FIX),)
            yield Finding(
                code, f"loose-{dtype}", Severity.WARNING, _LOOSE, _LOOSE_CAUSE, params=params, fixes=fix
            )


def _refused(code: str, refused: list[Event], params: dict[str, Any]) -> Finding:
    dtype = params["dtype"]
    why = _OLD_CHIP if dtype == "bfloat16" else ""
    params.update(
        count=len(refused), ops=_names(refused), first=refused[0]["op"], message=sentence(refused[0]), why=why
    )
    # One operator without the type is a gap; most of them without it is the chip.
    whole = 2 * len(refused) > params["total"]
    return Finding(
        code,
        f"no-{dtype}" if whole else f"some-{dtype}",
        Severity.NOTE if whole else Severity.WARNING,
        _NO_DTYPE if whole else _SOME_DTYPE,
        _NO_DTYPE_CAUSE,
        params=params,
        fixes=(Fix(_NO_DTYPE_FIX),),
        sources=(_BF16_URL,) if dtype == "bfloat16" else (),
    )


def sentence(event: Event) -> str:
    """The first sentence of what an operator raised."""
    return re.split(r"(?<=[^.\d])\. ", str(event["error"]))[0][:200]


def _names(events: Sequence[Event]) -> str:
    names = [str(e["op"]) for e in events]
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _quoted(events: Sequence[Event]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(str(e["op"]), sentence(e) if e.get("error") else f"{largest(e):.2e}") for e in events[:6]
    )
