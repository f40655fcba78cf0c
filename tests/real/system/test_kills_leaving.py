from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.departing import Departing, departing
from tests.real.system.departures import departure

# Connections that are cut when a process is killed are no fault of these tests.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def there(
    control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Departing]:
    with departing(control_plane, lab_process, jaeger, tmp_path_factory.mktemp("kills")) as begun:
        yield begun


@pytest.mark.seeds(quick=3, soak=20)
def test_a_controller_killed_while_nodes_leave_replaces_each_once_and_leaves_no_mark(
    there: Departing, seed: int, note: Callable[[str, str], None]
) -> None:
    way, moment = departure(seed)

    going = there.kill_at(way, moment)
    note("killed", f"{way.name}: {moment.name}: {there.scene.cluster.summary()}")
    there.scene.controller.start()

    note("seconds", f"{there.expect_replaced(going):.1f}")
    there.expect_cause(way, going)
    there.expect_parents_of_all_spans()
