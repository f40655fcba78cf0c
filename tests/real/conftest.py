"""Real parts as fixtures. Each is started once a worker, when a test first asks for it."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.real.lab.fixtures import lab, lab_process  # noqa: F401
from tests.real.parts.binaries import NotBuiltError, require
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.parts.kubectl import Kubectl

HERE: Final = Path(__file__).parent
# One worker runs all tests of a group. Those that need the API server alone are one: it is started once.
# Those that need a whole control plane are a group a file: each worker that runs any of them starts one.
API_SERVER: Final = "real API server"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    xdist = config.pluginmanager.hasplugin("xdist")
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        # A dozen processes on two cores are late at times. Each second try is told of at the end of the run.
        item.add_marker(pytest.mark.flaky(reruns=1))
        group = _group(item)
        if group and xdist:
            item.add_marker(pytest.mark.xdist_group(group))
    # Groups begin first, the largest before the others. All other tests fill what is left of the time.
    sizes = Counter(map(_group_of, items))
    items.sort(key=lambda item: -sizes[_group_of(item)] if _group_of(item) else 0)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where pytest-xdist does not name groups: each worker would start everything anew."""
    if not session.config.getoption("loadgroup", default=False):
        return
    astray = [item.nodeid for item in session.items if _group_of(item) and "@" not in item.nodeid]
    if astray:
        raise pytest.UsageError(f"{len(astray)} tests are not in their group, such as {astray[0]}")


@pytest.fixture(scope="module", autouse=True)
def _what_others_loaded_stays() -> None:
    """Look no more at what earlier files loaded: with boto3's models each look takes a tenth of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """Have what a test left open told of in its own name: it would fail the test in which it is collected."""
    yield
    gc.collect()


def _group(item: pytest.Item) -> str | None:
    """Return the group of a test on real parts; None where it may run in any worker."""
    fixtures = frozenset(getattr(item, "fixturenames", ()))
    if fixtures & {"control_plane", "jaeger"}:
        return f"real control plane of {item.path.stem}"
    return API_SERVER if "api_server" in fixtures else None


def _group_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the parts said last beside a test that failed."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            # Where the last test fails in its end, the parts have ended before, and their logs with them.
            with suppress(FileNotFoundError):
                report.sections += _last_lines(value)
    return report


def _last_lines(value: object) -> list[tuple[str, str]]:
    match value:
        case ControlPlane():
            return [(f"last lines of {part}", value.last_lines(part)) for part in value.parts]
        case Jaeger():
            return [("last lines of jaeger", value.last_lines())]
        case _:
            return []


def need(*parts: str) -> None:
    try:
        require(*parts)
    except NotBuiltError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """All five parts: pods are scheduled, run and collected."""
    need(*PARTS)
    with ControlPlane() as started:
        yield started


@pytest.fixture(scope="session")
def api_server() -> Iterator[ControlPlane]:
    """etcd and kube-apiserver alone: nobody but the test writes anything."""
    need("etcd", "kube-apiserver")
    with ControlPlane(without=PARTS[2:]) as started:
        yield started


@pytest.fixture(scope="session")
def jaeger() -> Iterator[Jaeger]:
    need("jaeger")
    with Jaeger() as started:
        yield started


@pytest.fixture(scope="session")
def prometheus_parts() -> None:
    """Prometheus and promtool are built."""
    need("prometheus", "promtool")


@pytest.fixture(scope="session")
def kubectl(control_plane: ControlPlane) -> Kubectl:
    """kubectl, for the control plane."""
    need("kubectl")
    return Kubectl(control_plane.kubeconfig)
