from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import pending_pod, resources, spec
from treenail.domain.cluster.refused_pods import Help, LimitsWatch, RefusedPods
from treenail.domain.model.pods import Pod
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

P1, P2 = pending_pod("p1"), pending_pod("p2")


def because(*reasons: Reason) -> RefusedClass:
    refusals = tuple(Refusal(f"pool-{at}", reason, "") for at, reason in enumerate(reasons))
    return RefusedClass(pods=("p1",), refusals=refusals)


TOO_LARGE = because(Reason.TOO_LARGE)


def refused(*pods: Pod, group: RefusedClass = TOO_LARGE, now: float = 0.0) -> RefusedPods:
    made = RefusedPods()
    for pod in pods:
        made.refuse(pod, group, now, 0.0)
    return made


def pauses(group: RefusedClass, number: int, *, chance: float = 0.0) -> list[float]:
    """Refuse a pod as often as it is tried; return the pauses between."""
    known, now, found = RefusedPods(), 0.0, []
    for _ in range(number):
        known.refuse(P1, group, now, chance)
        due = known.next_due()
        assert due is not None
        assert known.take_due(due - 0.1) == ()
        assert known.take_due(due) == ("p1",)
        found.append(due - now)
        now = due
    return found


def test_pods_are_tried_again_after_longer_and_longer_pauses() -> None:
    assert pauses(TOO_LARGE, 9) == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert pauses(TOO_LARGE, 8, chance=1.0)[-1] == 2160


def test_pods_that_a_pool_was_not_ready_for_are_tried_again_sooner() -> None:
    group = because(Reason.TOO_LARGE, Reason.POOL_NOT_READY)

    assert pauses(group, 7) == [10, 20, 40, 80, 160, 300, 300]


@pytest.mark.parametrize(
    ("reason", "helps"),
    [
        (Reason.TOO_LARGE, {Help.POOLS, Help.CATALOGUE}),
        (Reason.NO_CAPACITY, {Help.POOLS, Help.CATALOGUE, Help.OFFERINGS}),
        (Reason.LIMIT_REACHED, {Help.POOLS, Help.CATALOGUE, Help.OFFERINGS, Help.LIMITS}),
        (Reason.VOLUME_CLAIM, {Help.POOLS, Help.CATALOGUE, Help.STORAGE}),
        (
            Reason.POD_ANTI_AFFINITY,
            {Help.POOLS, Help.CATALOGUE, Help.OFFERINGS, Help.LIMITS, Help.COMPANY},
        ),
    ],
)
def test_a_change_helps_those_it_could_find_a_place_for(reason: Reason, helps: set[Help]) -> None:
    heeded = set()
    for kind in Help:
        known = refused(P1, group=because(reason))
        known.retry_refused({kind})
        if known.take_due(1.0):
            heeded.add(kind)

    assert heeded == helps


def test_changes_that_did_not_help_are_heeded_less_and_less_often() -> None:
    known, now, found = refused(P1), 0.0, []

    for _ in range(8):
        known.retry_refused({Help.CATALOGUE})
        due = known.next_due()
        assert due is not None
        found.append(max(due - now, 0.0))
        now = max(due, now)
        assert known.take_due(now) == ("p1",)
        known.refuse(P1, TOO_LARGE, now, 0.0)

    assert found == [0, 5, 10, 20, 40, 60, 60, 60]
    known.take_due(now + 3600)
    known.refuse(P1, TOO_LARGE, now + 3600, 0.0)
    known.retry_refused({Help.CATALOGUE})
    assert known.next_due() == now + 3600


def test_a_pod_that_asks_for_something_else_is_tried_at_once() -> None:
    known = refused(P1)

    assert known.changed(replace(P1, resource_version=2))
    assert known.take_due(1.0) == ()
    assert known.changed(replace(P1, spec=spec(2)))
    assert known.take_due(1.0) == ("p1",)
    assert not known.changed(P2)


def test_those_that_have_waited_for_half_of_their_pause_are_tried_with_others() -> None:
    known = refused(P1)
    known.refuse(P2, TOO_LARGE, 14.0, 0.0)
    known.refuse(pending_pod("p3"), TOO_LARGE, 16.0, 0.0)

    assert known.take_due(30.0) == ("p1", "p2")
    assert known.held("p3", 30.0)
    assert not known.held("p3", 31.0)


def test_those_that_ask_where_others_are_are_tried_together() -> None:
    known = refused(P1, group=because(Reason.POD_AFFINITY))
    known.refuse(P2, because(Reason.POD_AFFINITY), 29.0, 0.0)

    assert known.take_due(30.0) == ("p1", "p2")


def test_a_pod_with_a_place_is_not_held_back_should_it_lose_that() -> None:
    known = refused(P1)
    assert known.held("p1", 1.0)

    known.place("p1")

    assert not known.held("p1", 1.0)
    assert known.next_due() is None


def test_a_pod_that_is_gone_is_forgotten() -> None:
    known = refused(P1)

    assert known.forget("p1")
    assert not known.forget("p1")
    assert not known
    assert known.next_due() is None


def test_limits_are_compared_with_the_least_they_left_since() -> None:
    watch = LimitsWatch()

    assert not watch.grew({"a": resources(cpu=2)})
    watch.refused({"a": resources(cpu=1)})
    assert watch.grew({"a": resources(cpu=2)})
    assert not watch.grew({"a": resources(cpu=2), "b": resources(cpu=1)})
    assert not watch.grew({"a": resources(cpu=1), "b": resources(cpu=1)})
    assert watch.grew({"a": resources(cpu=1), "b": resources(cpu=2)})


def test_pods_whose_room_others_take_again_and_again_wait_longer_and_longer() -> None:
    known, now, found = RefusedPods(), 0.0, []
    for _ in range(9):
        known.crowd_out(P1, now)
        due = known.next_due()
        found.append(0.0 if due is None else due - now)
        now = due or now
        known.take_due(now)
        known.place("p1")

    assert found == [0, 0, 60, 120, 240, 480, 960, 1800, 1800]


def test_a_pod_that_has_been_refused_meanwhile_was_crowded_out_all_the_same() -> None:
    known = RefusedPods()
    for _ in range(2):
        known.crowd_out(P1, 0.0)
    known.refuse(P1, TOO_LARGE, 0.0, 0.0)
    known.place("p1")

    known.crowd_out(P1, 100.0)

    assert known.held("p1", 101.0)


def test_a_pod_that_was_crowded_out_is_tried_at_once_where_pools_say_something_else() -> None:
    known = RefusedPods()
    for _ in range(5):
        known.crowd_out(P1, 0.0)
    assert known.held("p1", 1.0)

    known.retry_refused({Help.POOLS})

    assert known.take_due(1.0) == ("p1",)


def test_a_pod_that_had_a_node_begins_anew_when_it_is_crowded_out() -> None:
    known = RefusedPods()
    for _ in range(5):
        known.crowd_out(P1, 0.0)
    known.forget("p1")

    known.crowd_out(P1, 0.0)

    assert not known.held("p1", 0.0)
