"""Every message exists in both languages, and no module speaks past the catalogue."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import npudoctor
from npudoctor.core.text import Text, catalogue


def import_everything() -> None:
    for module in pkgutil.walk_packages(npudoctor.__path__, "npudoctor."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_catalogue_is_complete() -> None:
    import_everything()
    # Other tests of this process may have made messages of their own.
    texts = [(module, text) for module, text in catalogue() if module.split(".")[0] == "npudoctor"]
    assert len(texts) > 20
    for module, text in texts:
        # Chinese characters, or at least Chinese punctuation around bare names and numbers
        chinese = any("\u3000" <= c <= "\u9fff" or "\uff00" <= c <= "\uffef" for c in text.zh)
        assert chinese, f"{module}: not Chinese: {text.zh!r}"


def test_a_missing_language_is_refused() -> None:
    with pytest.raises(ValueError, match="both languages"):
        Text("only English", "")
    with pytest.raises(ValueError, match="different parameters"):
        Text("{a} is wrong", "{b} 不对")
