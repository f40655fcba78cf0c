"""The laboratory as a fixture: one process per test session, laid out anew for each test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.lab.lab import Lab


@pytest.fixture(scope="session")
def lab_process() -> Iterator[Lab]:
    """Return the laboratory as other tests left it; `lab` is what tests want."""
    lab = Lab.start()
    try:
        yield lab
    finally:
        lab.stop()


@pytest.fixture
def lab(lab_process: Lab) -> Iterator[Lab]:
    """Return a laboratory laid out anew. The test fails where it answered with an error nobody asked for."""
    lab_process.reset()
    yield lab_process
    lab_process.check()
