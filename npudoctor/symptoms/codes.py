"""Vendor error codes: what a bare number means, and which symptoms explain it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from npudoctor import tables
from npudoctor.symptoms.rows import Symptom, all_symptoms

# How people write codes: 507008, 0x7020014, EI0006, EZ9999, -8005, ERR99999, NPU9012.
_CODE = re.compile(r"-?\d{4,6}|E[A-Z]?\d{4,5}|ERR\d{5}|NPU\d{3,4}|0[xX][0-9A-Fa-f]{2,8}")


@dataclass(frozen=True)
class CodeRow:
    """One code of `error_codes.tsv`: its family (`ACL`, `DCMI`, ...) and its meaning."""

    code: str
    family: str
    meaning: str
    meaning_zh: str
    source: str


def looks_like_code(text: str) -> bool:
    """Whether `text` is written like an error code rather than like a file name."""
    return _CODE.fullmatch(text.strip().upper().replace("0X", "0x")) is not None


@functools.lru_cache(maxsize=1)
def all_codes() -> dict[str, CodeRow]:
    """Every row of the table, by code."""
    return {
        r["code"]: CodeRow(r["code"], r["family"], r["meaning"], r["meaning_zh"], r["source_url"])
        for r in tables.load("error_codes").rows
    }


def table_dates() -> dict[str, str]:
    """Name and date of the code table."""
    return {"error_codes": tables.load("error_codes").date}


def rows_for(code: str) -> tuple[CodeRow, ...]:
    """The table rows of a code; a DCMI code is also known by its exit status (-8005 -> 187)."""
    wanted = code.strip()
    found = all_codes().get(wanted.upper()) or all_codes().get(wanted)
    if found is None and re.fullmatch(r"80\d\d|8255", wanted):
        found = all_codes().get(f"-{wanted}")
    return () if found is None else (found,)


def symptoms_for(code: str) -> tuple[Symptom, ...]:
    """Symptoms that name a vendor code, or have it as their own code or id."""
    wanted = code.strip().lower()
    names = {wanted, f"-{wanted}"} if re.fullmatch(r"80\d\d|8255", wanted) else {wanted}
    return tuple(
        s for s in all_symptoms()
        if s.code.lower() in names or s.id in names or any(c.lower() in names for c in s.codes)
    )


def search(words: str, limit: int = 5) -> tuple[Symptom, ...]:
    """Symptoms whose id, aliases or titles hold all words (either language), best first."""
    wanted = words.lower().split()
    scored = []
    for symptom in all_symptoms():
        names = " ".join((symptom.id.replace("-", " "), *symptom.aliases)).lower()
        texts = f"{names} {symptom.title.en} {symptom.title.zh}".lower()
        if wanted and all(word in texts for word in wanted):
            scored.append((-sum(word in names for word in wanted), symptom.code, symptom))
    return tuple(symptom for _, _, symptom in sorted(scored)[:limit])
