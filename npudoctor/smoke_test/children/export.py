"""Export a checkpoint and compare it with torch: `export.py CHECKPOINT OUT.onnx EXPORTER`."""

from __future__ import annotations

import sys
from pathlib import Path

from npudoctor.smoke_test.children.common import emit, guarded


def job(args: list[str]) -> int:
    """Export, check the file, compare on random and real observations and in a closed loop."""
    import onnxruntime

    from npudoctor.export import convert, graph, loop, source, verify

    path = Path(args[1])
    made = source.resolve(args[0])
    used = convert.to_onnx(made, path, batch=1, dynamic=False, opset=convert.OPSET, exporter=args[2])
    verify.check_file(path)
    call = verify.caller(verify.session(path), 1)
    closed = loop.closed_loop(made, call)
    facts = graph.read(path)
    emit(
        "exported",
        exporter=used,
        opset=facts.opset,
        nodes=len(facts.nodes),
        bytes=path.stat().st_size,
        onnxruntime=onnxruntime.__version__,
        limit=verify.RTOL,
        errors={c.kind: c.relative for c in verify.compare(made, call)},
        loop=vars(closed) if closed is not None else None,
    )
    return 0


if __name__ == "__main__":
    sys.exit(guarded(job, sys.argv[1:]))
