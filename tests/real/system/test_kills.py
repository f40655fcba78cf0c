from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.killing import Killing, killing
from tests.real.system.moments import moment

Note: TypeAlias = Callable[[str, str], None]


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Have something stand in the report of the tests (--junitxml)."""
    return lambda name, text: request.node.user_properties.append((name, text))


@pytest.fixture(scope="module")
def there(
    control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Killing]:
    folder = tmp_path_factory.mktemp("kills")
    with killing(control_plane, lab_process, jaeger, folder) as begun:
        yield begun


@pytest.mark.seeds(quick=5, soak=30)
def test_a_controller_killed_on_the_way_to_a_node_leaves_no_pod_waiting_and_buys_nothing_twice(
    there: Killing, seed: int, note: Note
) -> None:
    chosen = moment(seed)

    note("killed", f"{chosen.name}: {there.kill_at(chosen)}")
    there.scene.controller.start()

    note("seconds", f"{there.expect_whole():.1f}")
    there.expect_parents_of_all_spans()
