"""Requests for GPUs to a scheduler, a container engine or a training framework."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npudoctor.migrate.idioms import Change, Idiom, Message, Settings, Severity, Text, View, Word, found

_RAY = Message(
    Text("{code}: Ray counts NPUs under another name", "{code}：Ray 以另一名称统计 NPU"),
    Text("a job that asks for GPUs waits for ever on a machine that has NPUs only",
         "在只有 NPU 的机器上，申请 GPU 的任务会一直等待"),
    Text("ask for the resource NPU, for example --resources='{{\"NPU\": 8}}'",
         "改为申请 NPU 资源，例如 --resources='{{\"NPU\": 8}}'"),
    Severity.WARNING, ("https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html",),
)
_CONTAINER = Message(
    Text("{code}: the container gets NVIDIA devices", "{code}：容器申请的是 NVIDIA 设备"),
    Text("NPUs reach a container as /dev/davinci* devices or through the Ascend runtime",
         "NPU 通过 /dev/davinci* 设备或昇腾容器运行时进入容器"),
    Text("use the Ascend container runtime with ASCEND_VISIBLE_DEVICES, or pass the devices and driver "
         "folders; "
         "'npudoctor check' prints the options",
         "请使用昇腾容器运行时并设置 ASCEND_VISIBLE_DEVICES，或逐个传入设备与驱动目录；“npudoctor "
         "check”会给出选项"),
    Severity.WARNING, ("https://github.com/Ascend/mind-cluster",),
)
_CLUSTER = Message(
    Text("{code}: the job asks the scheduler for GPUs", "{code}：作业向调度器申请 GPU"),
    Text("it is placed on no NPU machine", "作业不会被调度到 NPU 机器"),
    Text("ask for the NPU resource of your cluster (Kubernetes: huawei.com/Ascend910)",
         "请申请集群的 NPU 资源（Kubernetes：huawei.com/Ascend910）"),
    Severity.WARNING, ("https://github.com/Ascend/mind-cluster",),
)
_FRAMEWORK = Message(
    Text("{key} is {code}", "{key} 为 {code}"),
    Text("the framework looks for an NVIDIA GPU and fails or falls back to the CPU",
         "框架会寻找 NVIDIA GPU，失败或退回 CPU"),
    Text("choose its NPU accelerator", "请选择该框架的 NPU 加速器"),
    Severity.WARNING, ("https://lightning.ai/docs/pytorch/stable/extensions/accelerator.html",),
)
_RAY_OPTION = re.compile(r"--num[-_]gpus(=|$)")
_DOCKER = re.compile(r"--gpus(=|$)|--runtime=nvidia$")
_SLURM = re.compile(r"--(gres=gpu\b|gpus?-per-\w+(=|$)|gpus=\d)")


def run(view: View, settings: Settings) -> Iterator[Change]:
    """Report; what to ask for depends on the site."""
    for command in view.commands:
        first = command.words[0].text.rsplit("/", 1)[-1]
        for word in command.words:
            message = _option(first, word.text)
            if message is not None:
                yield found(view, word, message=message)
    for setting in view.settings:
        message = _setting(setting.key.text, setting.value.text, setting.path)
        if message is not None:
            place: Word = setting.key if message is not _FRAMEWORK else setting.value
            yield found(view, place, message=message, key=setting.key.text)


def _option(command: str, word: str) -> Message | None:
    if _RAY_OPTION.match(word):
        return _RAY if command == "ray" else None
    if command in ("docker", "podman", "nvidia-docker") and _DOCKER.match(word):
        return _CONTAINER
    return _CLUSTER if _SLURM.match(word) else None


def _setting(key: str, value: str, path: tuple[str, ...]) -> Message | None:
    if key.startswith("nvidia.com/"):
        return _CLUSTER
    if (key, value) in (("runtime", "nvidia"), ("driver", "nvidia")):
        return _CONTAINER
    if key.lower() in ("accelerator", "accelerators") and value in ("gpu", "cuda"):
        return _FRAMEWORK
    return None


IDIOM = Idiom("NPU179", "gpu-request", _CONTAINER, run)
