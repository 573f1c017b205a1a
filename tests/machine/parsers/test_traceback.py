"""The exception that matters, out of a chained traceback."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npudoctor.machine.parsers.marks import marks
from npudoctor.machine.parsers.traceback import exceptions, tail

AUTOLOAD = """Traceback (most recent call last):
  File "/x/torch_npu/npu/utils.py", line 8, in <module>
    import torch_npu._C
ImportError: libhccl.so: cannot open shared object file: No such file or directory

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<string>", line 1, in <module>
    raise RuntimeError(
RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loading.
"""


def test_inner_before_outer() -> None:
    inner, outer = exceptions(AUTOLOAD)
    assert inner == "ImportError: libhccl.so: cannot open shared object file: No such file or directory"
    assert outer.startswith("RuntimeError: Failed to load the backend extension")


def test_crash_and_silence() -> None:
    assert exceptions("Fatal Python error: Segmentation fault\n\nCurrent thread")[0].startswith(
        "Fatal Python error"
    )
    assert exceptions("Exception: ASCEND_OPP_PATH : /x does not exist.")[0].startswith("Exception: ASCEND")
    assert exceptions("") == ("", "")
    assert exceptions("[W123] some warning about nothing") == ("", "")
    assert tail("a\n\nb\n", 1) == ("b",)


def test_marks_among_noise() -> None:
    text = '[INFO] log NPUDOCTOR {"a": 1}\nNPUDOCTOR {broken\nNPUDOCTOR [1]\nNPUDOCTOR {"b": 2}'
    assert marks(text) == [{"a": 1}, {"b": 2}]


@given(st.text())
def test_any_text(text: str) -> None:
    exceptions(text)
    marks(text)
    marks("NPUDOCTOR " + text)
    tail(text)
