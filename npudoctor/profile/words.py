"""What `profile` says besides its verdict; imports nothing heavy, so that `explain` shows it everywhere."""

from __future__ import annotations

from npudoctor.core.text import Text
from npudoctor.core.unit_words import Part, Said

AICPU = Text("{count} kernels ran on the AI CPU: {names}", "{count} 个算子在 AI CPU 上运行：{names}")
AICPU_CAUSE = Text(
    "the AI CPU is for control and rare operators; such a kernel is many times slower than on the AI Core",
    "AI CPU 用于控制和少见算子；同一算子在其上比在 AI Core 上慢很多倍",
)
SAID = {
    "NPU506": Said(
        "aicpu-fallback",
        ((Part.SAYS, AICPU), (Part.CAUSE, AICPU_CAUSE)),
        (
            "https://www.hiascend.com/document/detail/en/canncommercial/850/devaids/profiling/"
            "atlasprofiling_16_1149.html",
        ),
    ),
}
