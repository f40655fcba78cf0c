from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.system.killable import Grounds
from tests.real.system.killing import Killing, killing
from tests.real.system.moments import early_moment


@pytest.fixture(scope="module")
def there(grounds: Grounds) -> Iterator[Killing]:
    with killing(grounds, EARLY_BINDING="true") as begun:
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
