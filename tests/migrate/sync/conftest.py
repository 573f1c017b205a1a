"""What the tests of the sync rules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.migrate.sync.device import Device


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """A child process with the simulated NPU."""
    child = Device()
    yield child
    child.close()
