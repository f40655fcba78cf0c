"""What tests of whole systems share."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Have something stand in the report of the tests (--junitxml)."""
    return lambda name, text: request.node.user_properties.append((name, text))
