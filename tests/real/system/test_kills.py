from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.killing import Killing, killing
from tests.real.system.moments import moment


@pytest.fixture(scope="module")
def there(
    control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Killing]:
    folder = tmp_path_factory.mktemp("kills")
    with killing(control_plane, lab_process, jaeger, folder) as begun:
        yield begun


@pytest.mark.seeds(quick=5, soak=30)
def test_a_controller_killed_on_the_way_to_a_node_leaves_no_pod_waiting_and_buys_nothing_twice(
    there: Killing, seed: int, record_property: Callable[[str, object], None]
) -> None:
    chosen = moment(seed)
    record_property("killed", chosen.name)

    record_property("then", there.kill_at(chosen))
    there.scene.controller.start()

    record_property("seconds", round(there.expect_whole(), 1))
    there.expect_parents_of_all_spans()
