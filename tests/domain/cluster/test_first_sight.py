from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import START, bound_pod, claim
from treenail.domain.cluster.first_sight import FirstSight
from treenail.domain.model.nodes import LAUNCHED, Condition, Status

NOW = START + timedelta(hours=10)
HOUR = timedelta(hours=1)


def in_use() -> FirstSight:
    sight = FirstSight()
    sight.complete(NOW - timedelta(minutes=30))
    return sight


def test_what_was_there_at_the_start_is_as_old_as_it_says() -> None:
    old = replace(claim("a"), created_at=NOW - 5 * HOUR)

    assert FirstSight().date(old, None, NOW, listed=True) == old


def test_a_new_claim_that_seems_to_be_an_hour_old_is_new() -> None:
    sight = in_use()
    new = replace(claim("a"), created_at=NOW - HOUR)

    dated = sight.date(new, None, NOW, listed=False)

    assert dated.created_at == NOW
    again = replace(new, resource_version=9)
    assert sight.date(again, dated, NOW + HOUR, listed=True).created_at == NOW


def test_what_is_listed_may_be_as_old_as_the_list_before() -> None:
    missed = replace(claim("a"), created_at=NOW - timedelta(minutes=20))

    assert in_use().date(missed, None, NOW, listed=True) == missed
    assert in_use().date(missed, None, NOW, listed=False).created_at == NOW


def test_nothing_happened_in_the_future() -> None:
    new = replace(
        claim("a", leaving=True),
        created_at=NOW,
        deleting_since=NOW + HOUR,
        conditions=(Condition(LAUNCHED, Status.TRUE, since=NOW + HOUR),),
    )

    dated = FirstSight().date(new, None, NOW, listed=True)

    assert (dated.deleting_since, dated.since(LAUNCHED)) == (NOW, NOW)


def test_a_pod_that_stops_has_its_grace_period_whatever_the_clock_says() -> None:
    for off in (-HOUR, HOUR):
        stopping = replace(bound_pod("p", "n"), created_at=NOW, deleting_since=NOW + off)
        dated = in_use().date(stopping, None, NOW, listed=False)
        assert dated.deleting_since == NOW + timedelta(seconds=stopping.spec.grace_seconds)


def test_small_differences_are_left_as_they_are() -> None:
    new = replace(claim("a"), created_at=NOW + timedelta(seconds=5))

    assert in_use().date(new, None, NOW, listed=False) is new


def test_a_condition_keeps_its_date_until_its_status_changes() -> None:
    sight = in_use()
    false = Condition(LAUNCHED, Status.FALSE, since=NOW - HOUR)
    first = sight.date(replace(claim("a"), created_at=NOW, conditions=(false,)), None, NOW, listed=False)
    true = replace(false, status=Status.TRUE, since=NOW - HOUR + timedelta(seconds=60))
    later = NOW + timedelta(seconds=60)
    second = sight.date(replace(first, conditions=(true,)), first, later, listed=False)

    assert first.since(LAUNCHED) == NOW
    assert second.since(LAUNCHED) == later
