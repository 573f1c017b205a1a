"""Sentences for people, in English and Chinese."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """One sentence in both languages, with the same `{named}` values."""

    en: str
    zh: str

    def both(self, values: Mapping[str, object]) -> dict[str, str]:
        """For JSON: `{"en": ..., "zh": ...}`."""
        return {"en": self.en.format(**values), "zh": self.zh.format(**values)}


def language(environ: Mapping[str, str] = os.environ) -> str:
    """`zh` when the locale is Chinese, else `en`."""
    for name in ("NPUDOCTOR_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return "zh" if environ[name].lower().startswith("zh") else "en"
    return "en"


UPDATE = Text(
    "{steps:>9} steps   return {ret}   success {success}   {speed:>7.0f} steps/s",
    "{steps:>9} 步   回报 {ret}   成功率 {success}   {speed:>7.0f} 步/秒",
)
BAR = Text("return {ret}  {speed:.0f} steps/s", "回报 {ret}  {speed:.0f} 步/秒")
EVAL = Text(
    "{steps:>9} steps   evaluation without noise: return {ret}   success {success}",
    "{steps:>9} 步   无噪声评估：回报 {ret}   成功率 {success}",
)
END = Text(
    "stopped ({reason}) after {steps} steps in {seconds:.1f} s: return {ret}, success {success}",
    "结束（{reason}）：{steps} 步，用时 {seconds:.1f} 秒，回报 {ret}，成功率 {success}",
)
ALARM = Text(
    "update {update}: {rule}: {what} Try: {remedy}", "第 {update} 次更新：{rule}：{what} 建议：{remedy}"
)
