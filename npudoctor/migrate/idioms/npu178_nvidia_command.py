"""Commands that only an NVIDIA machine has."""

from __future__ import annotations

from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found

TOOLS = {
    "nvidia-smi": Text("use npu-smi info; its output has another form, so mend what parses it",
                       "改用 npu-smi info；其输出格式不同，请同时修改解析代码"),
    "nvcc": Text("CUDA sources cannot be built for an NPU: leave the step out, or write Ascend C operators",
                 "CUDA 源码无法为 NPU 构建：请去掉该步骤，或编写 Ascend C 算子"),
    "nsys": Text("use torch_npu.profiler or msprof", "改用 torch_npu.profiler 或 msprof"),
    "ncu": Text("use msprof op", "改用 msprof op"),
    "nvprof": Text("use torch_npu.profiler or msprof", "改用 torch_npu.profiler 或 msprof"),
    "nvidia-docker": Text("use docker with the Ascend container runtime", "改用带有昇腾容器运行时的 docker"),
    "nvidia-container-cli": Text("use the Ascend container runtime", "改用昇腾容器运行时"),
    "trtexec": Text("convert the ONNX model with ATC", "请用 ATC 转换 ONNX 模型"),
    "gpustat": Text("use npu-smi info", "改用 npu-smi info"),
    "nvtop": Text("use npu-smi info", "改用 npu-smi info"),
}
_TITLE = Text("the command {code} does not exist on an NPU machine", "NPU 机器上没有命令 {code}")
_CAUSE = Text("the script stops here, or goes on with nothing to read", "脚本会在此处停止，或读不到任何内容")
_SOURCES = ("https://www.hiascend.com/document",)
_MESSAGES = {name: Message(_TITLE, _CAUSE, fix, Severity.WARNING, _SOURCES) for name, fix in TOOLS.items()}


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report each use as a command, not the words where they are arguments of echo."""
    for command in view.commands:
        first = command.words[0].text
        if first in ("echo", "printf", "grep"):
            continue
        for word in command.words:
            name = word.text.rsplit("/", 1)[-1]
            if name in _MESSAGES:
                yield found(view, word, message=_MESSAGES[name])
                break


IDIOM = Idiom("NPU178", "nvidia-command", _MESSAGES["nvidia-smi"], run)
