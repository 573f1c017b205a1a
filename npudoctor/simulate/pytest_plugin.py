"""pytest plugin: `pytest --npu-sim` runs a project's own tests with the device `npu` simulated.

Registered as an entry point; without the option nothing is imported and nothing changes. Tests may
take the fixture `npu_recorder` to assert on counts, for instance that a step does not sync.
"""

from __future__ import annotations

from typing import Any

import pytest

_KEY = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--npu-sim` and `--npu-sim-devices`."""
    group = parser.getgroup("npudoctor", "simulated NPU")
    group.addoption("--npu-sim", action="store_true", help="run the tests on a simulated NPU (device 'npu')")
    group.addoption("--npu-sim-devices", type=int, default=1, metavar="N", help="number of simulated NPUs")


def pytest_configure(config: pytest.Config) -> None:
    """Activate before any test module is imported."""
    if not config.getoption("--npu-sim"):
        return
    from npudoctor.core.errors import UserError
    from npudoctor.simulate import backend
    from npudoctor.simulate.options import Options

    try:
        config.stash[_KEY] = backend.activate(Options(device_count=config.getoption("--npu-sim-devices")))
    except UserError as error:
        raise pytest.UsageError(error.sentence.render("en", error.params)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the device out of the process again."""
    if config.stash.get(_KEY, None) is not None:
        from npudoctor.simulate import backend

        backend.deactivate()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Totals and the five lines with most syncs."""
    recorder = config.stash.get(_KEY, None)
    if recorder is None:
        return
    from npudoctor.core.text import default_language
    from npudoctor.simulate import summary, text

    numbers = summary.summarise(recorder)
    terminalreporter.section("simulated NPU")
    for sentence in text.totals(numbers, default_language()):
        terminalreporter.write_line(sentence)
    for line in numbers["lines"][:5]:
        if line["syncs"]:
            terminalreporter.write_line(f"{line['syncs']:>8}  {line['path']}:{line['line']}  {line['text']}")


@pytest.fixture
def npu_recorder(request: pytest.FixtureRequest) -> Any:
    """The recorder of this session; skips the test when `--npu-sim` was not given."""
    recorder = request.config.stash.get(_KEY, None)
    if recorder is None:
        pytest.skip("needs --npu-sim")
    return recorder
