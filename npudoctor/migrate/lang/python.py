"""Python modules: the engine of this package."""

from __future__ import annotations

import functools
import re

from npudoctor.migrate import engine, filetypes, project, source
from npudoctor.migrate.lang import Language


@functools.cache
def trigger() -> re.Pattern[bytes]:
    """Matches when a rule, a fact or a suppression may have something to say."""
    triggers = [t for rule in engine.all_rules() for t in rule.triggers]
    # Of literals that are all needed, the longest is the rarest.
    words = {t if isinstance(t, str) else max(t, key=len) for t in triggers}
    words |= {word for fact in project.all_facts() for word in fact.triggers}
    words |= {"npudoctor", "import torch", "from torch"}
    return re.compile(b"|".join(re.escape(word.encode("utf-8")) for word in sorted(words)))


def wants(data: bytes) -> bool:
    """Whether the bytes hold any literal that a rule or a fact starts from."""
    return trigger().search(data) is not None


LANGUAGE = Language(
    kind=filetypes.PYTHON,
    decode=source.decode_python,
    wants=wants,
    migrate=engine.migrate_source,
    facts=project.collect_facts,
    indexed=True,
)
