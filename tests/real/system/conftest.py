"""What tests of whole systems share."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.evidence import Witnessed, keep_evidence
from tests.real.system.killable import Grounds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the evidence of a try that failed, and say where it is: the next try may pass."""
    report = yield
    for value in getattr(item, "funcargs", {}).values() if report.failed else ():
        if isinstance(value, Witnessed):
            try:
                kept = str(keep_evidence(value, f"{item.name}-{report.when}"))
            except Exception as error:  # noqa: BLE001 (it shall not hide why the test failed)
                kept = f"none, as not all parts are there any more: {error!r}"
            report.sections.append(("evidence", kept))
    return report


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Have something stand in the report of the tests (--junitxml)."""
    return lambda name, text: request.node.user_properties.append((name, text))


@pytest.fixture(scope="module")
def grounds(
    control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Grounds:
    """What a controller that is killed needs around it, shared by the tests of a file."""
    folder = tmp_path_factory.mktemp("kills")
    return Grounds(plane=control_plane, lab=lab_process, jaeger=jaeger, folder=folder)
