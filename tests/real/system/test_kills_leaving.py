from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.system.departing import Departing, departing
from tests.real.system.departures import departure
from tests.real.system.killable import CONNECTIONS_ARE_CUT, Grounds

pytestmark = CONNECTIONS_ARE_CUT


@pytest.fixture(scope="module")
def there(grounds: Grounds) -> Iterator[Departing]:
    with departing(grounds) as begun:
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
