"""Facts about an ONNX file, as plain data for the rules; the only module that reads the protobuf."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

Dim = Union[int, str]


@dataclass(frozen=True)
class Value:
    """An input or output: a dimension is a number, or the name of what varies (`?` when nameless)."""

    name: str
    dtype: str
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class Node:
    """One operator call; `path` names the subgraph it lies in, `attributes` its scalar attributes."""

    op: str
    domain: str
    name: str
    path: str
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, object], ...] = ()

    def attribute(self, name: str, default: object) -> object:
        """A scalar attribute or its default."""
        return dict(self.attributes).get(name, default)


@dataclass(frozen=True)
class Graph:
    """What the rules may know of a model.

    Attributes:
        opset: version of the standard operators.
        ranges: batch sizes asked for with --dynamic-batch; empty for a fixed batch.
        inner: names of inner values whose inferred shape is not fixed although all inputs are.
        external: files beside the model that it cannot do without.
    """

    opset: int
    ir: int
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    initializers: tuple[tuple[str, str], ...]
    inner: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    ranges: tuple[int, ...] = ()


def read(path: Path, ranges: tuple[int, ...] = ()) -> Graph:
    """Parse a model without loading external data.

    Raises:
        google.protobuf.message.DecodeError: not an ONNX file.
    """
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    names = {i.name for i in model.graph.initializer}
    inputs = tuple(_value(v) for v in model.graph.input if v.name not in names)
    inferred = onnx.shape_inference.infer_shapes(model)
    external = {
        entry.value for i in model.graph.initializer for entry in i.external_data if entry.key == "location"
    }
    return Graph(
        opset=next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0),
        ir=model.ir_version,
        inputs=inputs,
        outputs=tuple(_value(v) for v in model.graph.output),
        nodes=tuple(_nodes(model.graph, "")),
        initializers=tuple((i.name, _dtype(i.data_type)) for i in model.graph.initializer),
        inner=_unfixed(inferred, inputs),
        external=tuple(sorted(external)),
        ranges=ranges,
    )


def _value(value: Any) -> Value:
    tensor = value.type.tensor_type
    dims = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim)
    return Value(value.name, _dtype(tensor.elem_type), dims)


def _dtype(number: int) -> str:
    import onnx

    return str(onnx.TensorProto.DataType.Name(number)).lower()


def _nodes(graph: Any, path: str) -> list[Node]:
    import onnx

    found = []
    for node in graph.node:
        scalars = []
        for attribute in node.attribute:
            if attribute.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT):
                scalars.append((attribute.name, onnx.helper.get_attribute_value(attribute)))
        domain = "" if node.domain == "ai.onnx" else node.domain
        found.append(Node(node.op_type, domain, node.name, path, tuple(node.output), tuple(scalars)))
        for attribute in node.attribute:
            for sub in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                found.extend(_nodes(sub, f"{path}/{node.name or node.op_type}"))
    return found


def _unfixed(model: Any, inputs: tuple[Value, ...]) -> tuple[str, ...]:
    """Inner values without a fixed shape; only telling when the inputs are fixed."""
    if any(not isinstance(d, int) for value in inputs for d in value.dims):
        return ()
    return tuple(
        v.name
        for v in model.graph.value_info
        if v.type.tensor_type.HasField("shape") and any(not isinstance(d, int) for d in _value(v).dims)
    )
