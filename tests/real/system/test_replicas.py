from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.real.system.killable import CONNECTIONS_ARE_CUT, Grounds, come_to
from tests.real.system.moments import Moment, lost_moment
from tests.real.system.replicas import Losing, Replicas, losing

pytestmark = CONNECTIONS_ARE_CUT

LOST: Final[tuple[Callable[[Replicas], float], ...]] = (
    Replicas.freeze,
    Replicas.set_clock,
    Replicas.cut_off,
    Replicas.kill_ahead,
    Replicas.kill,
)


@pytest.fixture(scope="module")
def there(grounds: Grounds, pytestconfig: pytest.Config) -> Iterator[Losing]:
    with losing(grounds, quick=not pytestconfig.getoption("--soak"), EARLY_BINDING="true") as begun:
        yield begun


@pytest.mark.seeds(quick=10, soak=60)
def test_whoever_leads_and_is_lost_another_takes_over_and_nothing_is_doubled_or_lost(
    there: Losing, seed: int, note: Callable[[str, str], None]
) -> None:
    there.follow()
    there.count()
    if not there.scene.cluster.claims():
        there.add_pods()
        there.expect_whole()
    chosen, leaving = lost_moment(seed)
    lose = LOST[seed % len(LOST)]

    come_to_moment(there, chosen, leaving=leaving)
    took = lose(there.replicas)
    note("lost", f"{lose.__name__} at {chosen.name}: nobody led for {took:.1f} s")
    there.follow()

    note("seconds", f"{there.expect_whole():.1f}")
    lives = there.replicas.expect_one_at_a_time()
    assert lives > 1 or lose is Replicas.set_clock
    there.expect_parents_of_all_spans()


def come_to_moment(there: Losing, moment: Moment, *, leaving: bool) -> None:
    """Have pods that need machines, or a machine leave, and wait until the moment has come."""
    if not leaving:
        there.come_to(moment)
        return
    reached = moment.arm(there.scene, there.checkpoint)
    there.delete_claim()
    come_to(reached, there.scene, moment.name)


def test_a_leader_that_is_told_to_end_hands_over_at_once(
    there: Losing, note: Callable[[str, str], None]
) -> None:
    there.follow()
    there.count()
    there.add_pods()
    leader = there.replicas.leader()

    leader.scene.controller.stop()
    there.follow()

    assert leader.scene.controller.said("the lease was given up")
    leader.start()
    note("seconds", f"{there.expect_whole():.1f}")
    assert there.replicas.expect_one_at_a_time() > 1
