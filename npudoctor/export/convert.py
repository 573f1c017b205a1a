"""Torch to ONNX: one self-contained file, written atomically."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from npudoctor.atomic import output
from npudoctor.core.errors import UserError, first_line
from npudoctor.core.text import Text
from npudoctor.export.source import Source

IR_OF_17 = 8  # the file format of ONNX 1.12.0
OPSET = 17  # the operator set of ONNX 1.12.0, which ATC's parser follows

_MISSING = Text("the export needs the package {name}", "导出需要软件包 {name}")
_MISSING_HINT = Text(
    "python -m pip install onnx onnxruntime onnxscript, or install npudoctor[export]",
    "请执行 python -m pip install onnx onnxruntime onnxscript，或安装 npudoctor[export]",
)
_FAILED = Text("torch cannot export {label}: {reason}", "torch 无法导出 {label}：{reason}")
_FAILED_HINT = Text(
    "branches on tensor values and Python side effects cannot be exported; --exporter legacy traces instead",
    "无法导出依赖张量取值的分支与 Python 副作用；可用 --exporter legacy 改为跟踪",
)


def require_packages() -> None:
    """Refuse before the work starts.

    Raises:
        UserError: onnx or onnxruntime is not installed.
    """
    for name in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(name) is None:
            raise UserError(_MISSING, _MISSING_HINT, {"name": name})


def to_onnx(source: Source, path: Path, *, batch: int, dynamic: bool, opset: int, exporter: str) -> str:
    """Write the model; returns which exporter made it.

    Args:
        batch: rows of the fixed batch.
        dynamic: leave the first dimension of every input open instead.

    Raises:
        UserError: a package is missing, torch refuses the module, or the file cannot be written.
    """
    if exporter == "auto":
        exporter = "dynamo" if importlib.util.find_spec("onnxscript") is not None else "legacy"
    if exporter == "dynamo" and importlib.util.find_spec("onnxscript") is None:
        raise UserError(_MISSING, _MISSING_HINT, {"name": "onnxscript"})
    inputs = tuple(rows(t, 2 if dynamic and batch == 1 else batch) for t in source.inputs)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "model.onnx"
        try:
            with _quiet():
                _export(source, inputs, made, dynamic, opset, exporter)
        except Exception as error:  # exporters raise many kinds, from deep inside
            params = {"label": source.label, "reason": first_line(error)[:300]}
            raise UserError(_FAILED, _FAILED_HINT, params) from error
        if exporter == "dynamo":
            _mend(made)
        with output(path) as stream:
            stream.write(made.read_bytes())
    return exporter


def rows(tensor: Any, batch: int) -> Any:
    """The example with `batch` rows."""
    return tensor[:1].expand(batch, *tensor.shape[1:]).contiguous()


def _export(
    source: Source, inputs: tuple[Any, ...], path: Path, dynamic: bool, opset: int, exporter: str
) -> None:
    import torch

    common: dict[str, Any] = {
        "input_names": list(source.names),
        "output_names": list(source.outputs),
        "opset_version": opset,
    }
    if exporter == "legacy":
        axes = {name: {0: "batch"} for name in (*source.names, *source.outputs)} if dynamic else None
        torch.onnx.export(source.module, inputs, str(path), dynamo=False, dynamic_axes=axes, **common)
        return
    shapes = tuple({0: torch.export.Dim("batch")} for _ in inputs) if dynamic else None
    torch.onnx.export(
        source.module,
        inputs,
        str(path),
        dynamo=True,
        external_data=False,
        dynamic_shapes=shapes,
        verbose=False,
        **common,
    )


def _mend(path: Path) -> None:
    """Make the file what its operator set says it is.

    The exporter works in operator set 18 and converts down, but leaves two things of 18 behind:
    the attribute `num_outputs` of Split (without it Split cuts into equal parts, the same
    whenever they are equal; the comparison with torch would show it if not), and a file format
    newer than the ONNX release of that operator set.
    """
    import onnx

    model = onnx.load(str(path))
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    if opset >= 18:
        return
    for node in model.graph.node:
        if node.op_type == "Split":
            kept = [a for a in node.attribute if a.name != "num_outputs"]
            del node.attribute[:]
            node.attribute.extend(kept)
    model.ir_version = min(model.ir_version, IR_OF_17)
    onnx.save(model, str(path))


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep the exporters' progress off standard output, which belongs to the result."""
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import logging

        loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels):
                logger.setLevel(level)
