"""The words and tables of an export's report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npudoctor.core.blocks import Phrase, Table, cell_text
from npudoctor.core.report import Fact
from npudoctor.core.text import Text
from npudoctor.export.bench import Timing
from npudoctor.export.graph import Graph, Value
from npudoctor.export.loop import Loop
from npudoctor.export.om_check import Converted
from npudoctor.export.source import Source
from npudoctor.export.verify import Comparison

SCHEMA = "npudoctor.export/1"

VERDICT = Text(
    "exported: {path} ({bytes} bytes) gives torch's answers",
    "已导出：{path}（{bytes} 字节），结果与 torch 一致",
)
VERDICT_BAD = Text("exported: {path}, but read the findings first", "已导出：{path}，但请先查看发现的问题")
NEXT = Text("npudoctor report puts all results on one page", "npudoctor report 将全部结果汇总成一个网页")
ATC_TITLE = Text("Conversion to OM", "转换为 OM")
ATC_STATE = Text("state", "状态")
_NOT_RUN = Text(
    "not run: there is no atc here. Run this where CANN is installed",
    "未运行：此处没有 atc。请在装有 CANN 的机器上执行",
)
_NO_SOC = Text(
    "not run: the chip is unknown. Fill in soc_version: Ascend and the name in npu-smi info, such as "
    "Ascend910B3; on Atlas "
    "A3 both names of npu-smi info -t board -i 0 -c 0. Or give --soc",
    "未运行：芯片未知。请填写 soc_version：Ascend 加 npu-smi info 中的名称，如 Ascend910B3；Atlas A3 用 "
    "npu-smi info -t board -i 0 -c 0 中的两个名称。或指定 --soc",
)
_CONVERTED = Text(
    "converted for {soc} and compared with the ONNX file", "已为 {soc} 转换，并与 ONNX 文件比较"
)
_NOT_LOADED = Text("converted for {soc}; the OM could not be run", "已为 {soc} 转换；OM 无法运行")
_CONVERTED_ONLY = Text(
    "converted for {soc}; the OM was not run: there is no ais_bench here",
    "已为 {soc} 转换；未运行 OM：此处没有 ais_bench",
)
_FAILED = Text("failed for {soc}", "为 {soc} 转换失败")

_CHECKS = Text("Against torch", "与 torch 比较")
_INPUT, _ROWS = Text("input", "输入"), Text("rows", "行数")
_ABSOLUTE, _RELATIVE = Text("largest error", "最大误差"), Text("relative", "相对误差")
_SUCCESS = Text("success torch / ONNX", "成功率 torch / ONNX")
_KINDS = {
    "random": Text("random", "随机"),
    "rollout": Text("real observations", "真实观测"),
    "om random": Text("OM against ONNX, random", "OM 与 ONNX，随机"),
    "om rollout": Text("OM against ONNX, real observations", "OM 与 ONNX，真实观测"),
}
_LOOP = Text("closed loop, {episodes} episodes", "闭环，{episodes} 个回合")
_SAME_OUTCOMES = Text(
    "Closed loop: all {episodes} episodes end as with torch.",
    "闭环：{episodes} 个回合的结局均与 torch 相同。",
)
_OUTCOMES = Text(
    "Closed loop: {changed} of {episodes} episodes end otherwise than with torch. Torch itself ends up to "
    "{own} otherwise when the last bit of its observations changes.",
    "闭环：{episodes} 个回合中有 {changed} 个的结局与 torch 不同。仅改变观测的最后一位时，"
    "torch 自身最多有 {own} 个回合的结局改变。",
)
_BENCH = Text("Microseconds per call, one CPU thread", "每次调用的微秒数，单 CPU 线程")
_WAY, _BATCH, _US = Text("way", "方式"), Text("batch", "批量"), Text("µs", "微秒")
_FASTER, _WHY = Text("times faster than eager", "相对 eager 的倍数"), Text("why not", "未测原因")
_LABELS = {
    "source": Text("source", "来源"),
    "exporter": Text("exporter", "导出器"),
    "opset": Text("opset", "算子集"),
    "inputs": Text("inputs", "输入"),
    "outputs": Text("outputs", "输出"),
    "operators": Text("operators", "算子"),
    "file": Text("file", "文件"),
}


def facts(source: Source, graph: Graph, exporter: str, path: Path) -> tuple[Fact, ...]:
    """The summary lines."""
    values = {
        "source": source.label,
        "exporter": exporter,
        "opset": f"{graph.opset} (IR {graph.ir})",
        "inputs": "; ".join(map(_value, graph.inputs)),
        "outputs": "; ".join(map(_value, graph.outputs)),
        "operators": f"{len(graph.nodes)}: " + ", ".join(sorted({n.op for n in graph.nodes})),
        "file": str(path),
    }
    return tuple(Fact(key, _LABELS[key], value) for key, value in values.items())


def checks(comparisons: Sequence[Comparison], loop: Loop | None) -> Table:
    """Errors against torch per kind of input, and the closed loop."""
    rows: list[tuple[Any, ...]] = [
        (_KINDS[c.kind], str(c.rows), f"{c.absolute:.1e}", f"{c.relative:.1e}", "") for c in comparisons
    ]
    note = None
    if loop is not None:
        params = {"changed": loop.changed, "episodes": loop.episodes, "own": loop.own_changed}
        note = Phrase(_OUTCOMES if loop.changed else _SAME_OUTCOMES, params)
        both = (loop.torch_success, loop.onnx_success)
        success = "-" if None in both else " / ".join(f"{s:.1%}" for s in both if s is not None)
        rows.append((Phrase(_LOOP, {"episodes": loop.episodes}), "", f"{loop.difference:.1e}", "", success))
    columns = (_INPUT, _ROWS, _ABSOLUTE, _RELATIVE, _SUCCESS)
    return Table(_CHECKS, columns, tuple(rows), right=(1, 2, 3, 4), note=note)


def bench_table(timings: Sequence[Timing]) -> list[Table]:
    """Latencies with their ratio to eager torch at the same batch; empty when not measured."""
    if not timings:
        return []
    eager = {t.batch: t.us for t in timings if t.way == "torch eager"}
    rows = []
    for t in timings:
        base = eager.get(t.batch)
        ratio = f"{base / t.us:.2f}" if t.us and base else ""
        rows.append((t.way, str(t.batch), f"{t.us:.1f}" if t.us else "-", ratio, t.note))
    return [Table(_BENCH, (_WAY, _BATCH, _US, _FASTER, _WHY), tuple(rows), right=(1, 2, 3))]


def state(done: Converted, soc: str | None) -> Text:
    """What happened to the OM."""
    if done.conversion is None:
        return _NO_SOC if soc is None else _NOT_RUN
    if done.conversion.om is None:
        return _FAILED
    if done.comparisons:
        return _CONVERTED
    return _NOT_LOADED if done.findings else _CONVERTED_ONLY


def extra(
    source: Source,
    graph: Graph,
    exporter: str,
    comparisons: Sequence[Comparison],
    loop: Loop | None,
    timings: Sequence[Timing],
    words: list[str],
    done: Converted,
    soc: str | None,
) -> dict[str, Any]:
    """The machine-readable form, schema `npudoctor.export/1`."""
    conversion = done.conversion
    return {
        "schema": SCHEMA,
        "source": source.label,
        "exporter": exporter,
        "opset": graph.opset,
        "ir": graph.ir,
        "inputs": {v.name: {"dtype": v.dtype, "shape": list(v.dims)} for v in graph.inputs},
        "outputs": {v.name: {"dtype": v.dtype, "shape": list(v.dims)} for v in graph.outputs},
        "operators": sorted({n.op for n in graph.nodes}),
        "nodes": len(graph.nodes),
        "comparisons": [_finite(vars(c)) for c in comparisons],
        "closed_loop": _finite(vars(loop)) if loop else None,
        "bench_us": [{**vars(t), "note": cell_text(t.note, "en")} for t in timings],
        "atc": {
            "command": words,
            "soc_version": soc,
            "ran": conversion is not None,
            "status": conversion.code if conversion else None,
            "om": str(conversion.om) if conversion and conversion.om else None,
            "comparisons": [_finite(vars(c)) for c in done.comparisons],
        },
    }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Strict JSON has no infinity and no NaN: they become their names."""
    return {k: str(v) if isinstance(v, float) and v - v != 0.0 else v for k, v in values.items()}


def _value(value: Value) -> str:
    return f"{value.name} {value.dtype} [{', '.join(map(str, value.dims))}]"
