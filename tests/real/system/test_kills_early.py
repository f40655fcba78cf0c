from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.killing import Killing, killing
from tests.real.system.moments import early_moment


@pytest.fixture(scope="module")
def there(
    control_plane: ControlPlane, lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Killing]:
    folder = tmp_path_factory.mktemp("kills")
    with killing(control_plane, lab_process, jaeger, folder, EARLY_BINDING="true") as begun:
        yield begun


@pytest.mark.seeds(quick=1, soak=10)
def test_a_controller_killed_while_pods_are_bound_early_binds_all_and_buys_nothing_twice(
    there: Killing, seed: int, note: Callable[[str, str], None]
) -> None:
    chosen = early_moment(seed)

    note("killed", f"{chosen.name}: {there.kill_at(chosen)}")
    there.scene.controller.start()

    note("seconds", f"{there.expect_whole():.1f}")
    there.expect_parents_of_all_spans()
