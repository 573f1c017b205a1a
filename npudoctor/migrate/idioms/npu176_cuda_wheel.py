"""Wheels and package indexes of CUDA builds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found

_BUILD = re.compile(
    r"\+cu\d{2,3}\b|/whl/(?:nightly/)?cu\d{2,3}\b|[-_]cu(?:1[0-9])\b|\[cuda\d*\]|cu1\d\dtorch"
)
_NVIDIA = re.compile(r"nvidia-[a-z-]+-cu\d{2}$")

_BUILT = Message(
    Text("{code} is a build for CUDA", "{code} 是 CUDA 构建"),
    Text("it pulls gigabytes of CUDA libraries, and two accelerators in one torch exclude each other: "
         "torch_npu "
         "refuses to load beside a CUDA build",
         "它会拉入数 GB 的 CUDA 库，且同一 torch 中不能同时存在两种加速器：torch_npu 拒绝与 CUDA "
         "构建一起加载"),
    Text("install the CPU build of torch (index https://download.pytorch.org/whl/cpu on x86_64) and the "
         "torch-npu "
         "of the same version",
         "请安装 CPU 版 torch（x86_64 上使用索引 https://download.pytorch.org/whl/cpu）及同版本的 torch-npu"),
    Severity.WARNING,
    ("https://github.com/Ascend/pytorch/blob/master/torch_npu/__init__.py",),
)
_LIBRARIES = Message(
    Text("{n} packages hold CUDA libraries ({code}, ...)", "{n} 个软件包为 CUDA 库（{code} 等）"),
    Text("only CUDA builds of torch need them", "只有 CUDA 版 torch 需要它们"),
    Text("resolve the requirements again with the CPU build of torch", "请以 CPU 版 torch 重新解析依赖"),
    Severity.WARNING,
    _BUILT.sources,
)


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report builds one by one, and the libraries they pull in once per file."""
    libraries = [r for r in view.requirements if _NVIDIA.match(r.name)]
    if libraries:
        yield found(view, libraries[0].word, message=_LIBRARIES, n=len(libraries))
    pulled = {r.word.span() for r in libraries}
    seen: set[tuple[int, int]] = set()
    for word in view.words():
        if word.span() in pulled or any(s <= word.span()[0] < e for s, e in seen):
            continue
        if _BUILD.search(word.text) and not _is_image(view, word):
            seen.add(word.span())
            yield found(view, word)


def _is_image(view: View, word: Word) -> bool:
    return any(word.span() == image.span() for image in view.images)


IDIOM = Idiom("NPU176", "cuda-wheel", _BUILT, run)
