"""Container images built for CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, found

_IMAGE = re.compile(r"nvidia/|nvcr\.io/|nvidia-cuda|\bcuda\b|cuda\d|-cu\d{2,3}\b|-gpu\b", re.IGNORECASE)

_MESSAGE = Message(
    Text("the image {code} is built for NVIDIA GPUs", "镜像 {code} 面向 NVIDIA GPU"),
    Text("it holds CUDA and no CANN; torch_npu cannot load there",
         "其中只有 CUDA 而没有 CANN，torch_npu 无法在其中加载"),
    Text("build on an Ascend CANN image of your chip and Python, install torch and torch-npu of one "
         "version, and "
         "start it with the Ascend devices",
         "请以对应芯片与 Python 的昇腾 CANN 镜像为基础，安装版本配套的 torch 与 torch-npu，"
         "并在启动时挂载昇腾设备"),
    Severity.WARNING,
    ("https://github.com/Ascend/cann-container-image", "https://quay.io/repository/ascend/cann"),
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report; which base fits is a choice of the user's."""
    for word in view.images:
        if _IMAGE.search(word.text):
            yield found(view, word)


IDIOM = Idiom("NPU175", "nvidia-image", _MESSAGE, run)
