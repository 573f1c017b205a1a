"""What `export` says about a conversion; imports nothing heavy, so that `explain` shows it everywhere."""

from __future__ import annotations

from npudoctor.core.text import Text
from npudoctor.core.unit_words import Part, Said

ONNX_DIFFERS = Text(
    "{what}: the exported model is {relative:.1e} off torch", "{what}：导出模型与 torch 相差 {relative:.1e}"
)
ONNX_DIFFERS_CAUSE = Text(
    "rounding explains 1e-6; {limit:.0e} is allowed. The graph does not compute what the module computes: "
    "a branch that "
    "was traced away, a constant taken from the example input, or an operator that the runtime reads "
    "differently",
    "舍入误差约为 1e-6，允许 {limit:.0e}。计算图与模型不一致：某个分支在跟踪时丢失、示例输入中的值被固化，"
    "或运行时对某算子的解释不同",
)
ONNX_DIFFERS_FIX = Text("export with the other exporter and compare again", "换用另一种导出器后再比较")
OUTCOMES = Text(
    "{changed} of {episodes} episodes end otherwise than with torch",
    "{episodes} 个回合中有 {changed} 个的结局与 torch 不同",
)
OUTCOMES_CAUSE = Text(
    "each action equals torch's, yet the last bit of its own observations changes only {own} of torch's "
    "episodes. Look at the seeds of these episodes before the policy is trusted",
    "每个动作都与 torch 一致，但仅改变观测的最后一位时，torch 自身只有 {own} 个回合的结局改变。"
    "在信任该策略之前，请检查这些回合的种子",
)
ATC_FAILED = Text("atc ended with status {status}", "atc 以状态 {status} 结束")
ATC_CAUSE = Text("its last line: {last}", "其最后一行：{last}")
ATC_FIX = Text("read its log with explain", "用 explain 解读其日志")
OM_DIFFERS = Text(
    "the OM is {relative:.1e} off the ONNX file ({what})", "OM 与 ONNX 文件相差 {relative:.1e}（{what}）"
)
OM_DIFFERS_CAUSE = Text(
    "{limit:.0e} is allowed, because ATC picks float16 wherever an operator has it. More than that is a "
    "value too large or too small for float16, or an operator that ATC reads differently",
    "允许 {limit:.0e}，因为只要算子支持，ATC 就会选用 float16。超出该值说明有数值超出 float16 的表示范围，"
    "或 ATC 对某个算子的解释不同",
)
OM_DIFFERS_FIX = Text("convert again with the types of the ONNX file", "按 ONNX 文件中的数据类型重新转换")
PRECISION_SOURCE = "https://www.hiascend.com/document/detail/zh/canncommercial/latest/devaids/atctool/atlasatcparam_16_0068.html"
NOT_RUN = Text("the OM cannot be run: {reason}", "无法运行 OM：{reason}")
NOT_RUN_CAUSE = Text(
    "atc made the file, but the ACL runtime does not load or run it on this machine",
    "atc 已生成文件，但本机的 ACL 运行时无法加载或运行它",
)
NOT_RUN_FIX = Text("find out what the environment lacks", "查明环境缺少什么")

SAID = {
    "NPU601": Said(
        "onnx-differs",
        ((Part.SAYS, ONNX_DIFFERS), (Part.CAUSE, ONNX_DIFFERS_CAUSE), (Part.FIX, ONNX_DIFFERS_FIX)),
    ),
    "NPU602": Said("atc-failed", ((Part.SAYS, ATC_FAILED), (Part.CAUSE, ATC_CAUSE), (Part.FIX, ATC_FIX))),
    "NPU603": Said(
        "om-differs",
        ((Part.SAYS, OM_DIFFERS), (Part.CAUSE, OM_DIFFERS_CAUSE), (Part.FIX, OM_DIFFERS_FIX)),
        (PRECISION_SOURCE,),
    ),
    "NPU604": Said(
        "om-not-run", ((Part.SAYS, NOT_RUN), (Part.CAUSE, NOT_RUN_CAUSE), (Part.FIX, NOT_RUN_FIX))
    ),
    "NPU605": Said("closed-loop-differs", ((Part.SAYS, OUTCOMES), (Part.CAUSE, OUTCOMES_CAUSE))),
}
