"""Stand-ins for `atc` and for ais_bench that keep to what is documented of them; onnxruntime computes.

They are put on PATH and PYTHONPATH of a child process. `STAND_IN` in its environment makes them misbehave:
`float16` rounds the answers as an OM does, `wrong` adds 0.1, `no-device` refuses to load the model, `refuses`
makes atc fail with the code of an input name that the model does not have.

Sources: options and messages of atc,
https://www.hiascend.com/document/detail/zh/canncommercial/latest/devaids/atctool/atlasatcparam_16_0068.html;
`InferSession(device_id, model_path)`, `infer(feeds, mode)`, its modes and its RuntimeErrors,
https://gitee.com/ascend/tools/tree/master/ais-bench_workload/tool/ais_bench.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ATC = """#!{python}
import json, os, pathlib, sys
import onnx

asked = dict(word[2:].split("=", 1) for word in sys.argv[1:])
print("ATC start working now, please wait for a moment.")

def fail(code, text):
    print("ATC run failed, Please check the detail log, Try 'atc --help' for more information")
    print(f"{{code}}: {{text}}")
    sys.exit(255)

if not asked["soc_version"].startswith("Ascend"):
    fail("E10001", f"Value [{{asked['soc_version']}}] for parameter [--soc_version] is invalid.")
assert asked["framework"] == "5" and asked["input_format"] == "ND"
model = onnx.load(asked["model"])
known = {{i.name: i.type.tensor_type.shape.dim for i in model.graph.input}}
shapes = dict(part.split(":") for part in asked["input_shape"].split(";"))
if os.environ.get("STAND_IN") == "refuses":
    shapes["observation"] = shapes.pop("obs")
for name, shape in shapes.items():
    if name not in known:
        fail("E10016", f"Opname [{{name}}] specified in [--input_shape] is not found in the model")
    dims = [int(d) for d in shape.split(",")]
    assert len(dims) == len(known[name])
    assert dims[0] != -1 or "dynamic_batch_size" in asked
sizes = [int(n) for n in asked.get("dynamic_batch_size", "").split(",") if n]
data = json.dumps({{"sizes": sizes, "shapes": shapes}}).encode() + b"\\n" + model.SerializeToString()
pathlib.Path(asked["output"] + ".om").write_bytes(data)
print("ATC run success, welcome to the next use.")
"""

INTERFACE = """
import json, os
import numpy as np
import onnxruntime

class InferSession:
    def __init__(self, device_id, model_path, acl_json_path=None, debug=False, loop=1):
        os.write(1, b"[INFO] acl init success\\n")  # from C, past sys.stdout
        if os.environ.get("STAND_IN") == "no-device":
            raise RuntimeError("[-1][ACL: init] open device 0 failed, ret 507033")
        head, _, model = open(model_path, "rb").read().partition(b"\\n")
        head = json.loads(head)
        self.sizes = head["sizes"]
        self.shapes = [[int(d) for d in s.split(",")] for s in head["shapes"].values()]
        self.live = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def infer(self, feeds, mode="static", custom_sizes=100000, out_array=True):
        if len(feeds) != len(self.shapes):
            raise RuntimeError("input datas and intensors nums not matched!")
        for array, shape in zip(feeds, self.shapes):
            if mode == "static" and (self.sizes or list(array.shape) != shape):
                raise RuntimeError("Check i:0 name:obs in size invalid")
            fits = array.shape[0] in self.sizes and list(array.shape[1:]) == shape[1:]
            if mode == "dymbatch" and not fits:
                raise RuntimeError(f"dynamic batch set failed, {array.shape[0]} is not in {self.sizes}")
        if mode not in ("static", "dymbatch"):
            raise RuntimeError(f"wrong infer_mode:{mode}")
        names = [i.name for i in self.live.get_inputs()]
        found = self.live.run(None, dict(zip(names, feeds)))
        how = os.environ.get("STAND_IN", "float16")
        if how == "float16":
            found = [f.astype(np.float16).astype(f.dtype) if f.dtype.kind == "f" else f for f in found]
        return [f + f.dtype.type(0.1) for f in found] if how == "wrong" else found
"""


def install(folder: Path, *, atc: bool = True, runtime: bool = True) -> dict[str, str]:
    """Write the stand-ins below `folder`; returns the environment in which they are found."""
    env = {"PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "PYTHONPATH": str(folder / "lib")}
    if atc:
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "atc").write_text(ATC.format(python=sys.executable))
        (folder / "bin" / "atc").chmod(0o755)
    if runtime:
        package = folder / "lib" / "ais_bench" / "infer"
        package.mkdir(parents=True)
        for init in (package.parent / "__init__.py", package / "__init__.py"):
            init.write_text("")
        (package / "interface.py").write_text(INTERFACE)
    return env
