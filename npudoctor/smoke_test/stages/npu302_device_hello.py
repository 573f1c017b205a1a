"""Stage 2: ones + ones on the device, and the proof that it was computed there."""

from __future__ import annotations

from npudoctor.core.blocks import Phrase
from npudoctor.core.finding import Evidence, Finding, Severity
from npudoctor.core.text import Text
from npudoctor.smoke_test import causes
from npudoctor.smoke_test.stage import Context, Outcome, Stage, failed, passed

_CODE = "NPU302"
# The first open of a device loads firmware parts and can take tens of seconds.
_TIMEOUT_S = 180.0

_PASSED = Text(
    "1 + 1 = 2 on {device}; opened in {opened_s:.2f} s, first kernel {first_kernel_ms:.1f} ms",
    "{device} 上 1 + 1 = 2；打开设备 {opened_s:.2f} 秒，首个算子 {first_kernel_ms:.1f} 毫秒",
)
_WRONG_PLACE_TITLE = Text("asked for {wanted}, computed on {device}", "要求 {wanted}，实际在 {device} 上计算")
_WRONG_PLACE_CAUSE = Text(
    "the tensor that came out lives on another device than the one asked for, so nothing measured here would "
    "say anything about {wanted}",
    "结果张量所在设备与要求不符，因此此处的任何测量都不能说明 {wanted} 的情况",
)
_WRONG_VALUE_TITLE = Text("1 + 1 gave {values} on {device}", "{device} 上 1 + 1 得到 {values}")
_WRONG_VALUE_CAUSE = Text(
    "a device that adds wrongly, or a copy that returns other bytes: driver, firmware and CANN do not fit, "
    "or the "
    "chip is faulty",
    "设备加法出错，或拷贝返回了不同的字节：驱动、固件与 CANN 不匹配，或芯片有故障",
)


def run(context: Context) -> Outcome:
    """Run the child and judge place and value."""
    child = context.run("hello", context.kind, timeout_s=_TIMEOUT_S)
    hello, copy = child.first("hello"), child.first("copy")
    if hello is None or copy is None or not child.ended_well:
        return causes.no_result(_CODE, child, context)
    params = {**hello, "wanted": context.kind, "first_kernel_ms": 1e3 * float(hello["first_kernel_s"])}
    place = str(hello["device"]).split(":")[0]
    if place != ("cpu" if context.kind == "cpu" else "npu"):
        finding = Finding(
            _CODE, "wrong-device", Severity.ERROR, _WRONG_PLACE_TITLE, _WRONG_PLACE_CAUSE, params=params
        )
        return failed(Phrase(_WRONG_PLACE_TITLE, params), finding, child)
    if hello["values"] != [2.0] * 4 or not copy["same"]:
        finding = Finding(
            _CODE, "wrong-value", Severity.ERROR, _WRONG_VALUE_TITLE, _WRONG_VALUE_CAUSE, params=params
        )
        return failed(Phrase(_WRONG_VALUE_TITLE, params), finding, child)
    return passed(_PASSED, params, evidence=(Evidence("ones + ones", str(hello["values"])),), facts=params)


STAGE = Stage(code=_CODE, slug="device-hello", title=Text("device hello", "设备连通"), run=run)
