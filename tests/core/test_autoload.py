"""The switch is on inside the block only, whatever it was before and however the block ends."""

from __future__ import annotations

import os

import pytest

from npudoctor.core import autoload


@pytest.mark.parametrize("before", [None, "0", "1"])
def test_the_environment_is_what_it_was(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(autoload.VARIABLE, raising=False)
    if before is not None:
        monkeypatch.setenv(autoload.VARIABLE, before)
    with autoload.off():
        assert os.environ[autoload.VARIABLE] == "0"
    assert os.environ.get(autoload.VARIABLE) == before
    with pytest.raises(ImportError), autoload.off():
        raise ImportError
    assert os.environ.get(autoload.VARIABLE) == before
