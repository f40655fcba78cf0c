from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.helm import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm, without a cluster."""
    try:
        return Helm(tmp_path_factory.mktemp("helm"))
    except NotBuiltError as error:
        pytest.skip(str(error))


@pytest.fixture
def values(tmp_path: Path) -> Path:
    """A file for values."""
    return tmp_path / "values.yaml"
