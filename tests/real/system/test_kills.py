from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.real.system.killable import CONNECTIONS_ARE_CUT, Grounds
from tests.real.system.killing import Killing, killing
from tests.real.system.moments import moment

pytestmark = CONNECTIONS_ARE_CUT

AWAY_SECONDS = 8
AWAY_SECONDS_IN_FULL = 60


@pytest.fixture(scope="module")
def there(grounds: Grounds) -> Iterator[Killing]:
    with killing(grounds) as begun:
        yield begun


@pytest.mark.seeds(quick=5, soak=30)
def test_a_controller_killed_on_the_way_to_a_node_leaves_no_pod_waiting_and_buys_nothing_twice(
    there: Killing, seed: int, note: Callable[[str, str], None]
) -> None:
    chosen = moment(seed)

    note("killed", f"{chosen.name}: {there.kill_at(chosen)}")
    there.scene.controller.start()

    note("seconds", f"{there.expect_whole():.1f}")
    there.expect_parents_of_all_spans()


@pytest.mark.parametrize("back", ["before", "after"])
def test_a_controller_killed_while_the_api_server_is_away_finds_what_it_bought(
    there: Killing, back: str, note: Callable[[str, str], None], pytestconfig: pytest.Config
) -> None:
    away = AWAY_SECONDS_IN_FULL if pytestconfig.getoption("--soak") else AWAY_SECONDS
    controller = there.scene.controller
    there.lose_api_server_over_a_purchase()
    time.sleep(away / 2)

    controller.kill()
    if back == "before":
        controller.start(wait=False)
    time.sleep(away / 2)
    there.find_api_server()
    if back == "after":
        controller.start()

    note("seconds", f"{there.expect_whole():.1f}")
    there.expect_parents_of_all_spans()


def test_a_controller_killed_as_soon_as_the_api_server_is_back_finds_what_it_bought(
    there: Killing, note: Callable[[str, str], None], pytestconfig: pytest.Config
) -> None:
    there.lose_api_server_over_a_purchase()
    time.sleep(AWAY_SECONDS_IN_FULL if pytestconfig.getoption("--soak") else AWAY_SECONDS)
    there.find_api_server()

    there.scene.controller.kill()
    there.scene.controller.start()

    note("seconds", f"{there.expect_whole():.1f}")
    there.expect_parents_of_all_spans()
