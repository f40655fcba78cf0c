from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.adapters.ec2.call_limits import purpose_of
from treenail.domain.model.permits import Permits, Ticket
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.rate_limits import Limit, TokenBucket

INTERRUPTION, PROVISIONING, DISRUPTION, HOUSEKEEPING, TELLING = Purpose
LIMIT = Limit(per_second=5, burst=10)
seconds = st.integers(0, 60).map(lambda tenths: tenths / 10)


@dataclass(frozen=True)
class Asked:
    """After a while somebody asks, for so many things; and perhaps EC2 has just refused somebody else."""

    after: float
    purpose: Purpose
    resources: int
    refused: bool


asked = st.builds(
    Asked, seconds, st.sampled_from(Purpose), st.integers(1, 30), st.sampled_from((False, False, False, True))
)


def played(events: list[Asked], *, resources: Limit | None = None) -> list[tuple[float, Ticket]]:
    """Return when each ticket was granted, where all who wait look whenever somebody may be lucky."""
    about = None if resources is None else TokenBucket(resources, 0.0)
    permits = Permits(TokenBucket(LIMIT, 0.0), about)
    waiting: list[Ticket] = []
    granted: list[tuple[float, Ticket]] = []
    now = 0.0

    def look() -> None:
        permits.grant(now)
        granted.extend((now, ticket) for ticket in waiting if ticket.granted)
        waiting[:] = [ticket for ticket in waiting if not ticket.granted]

    for event in events:
        until = now + event.after
        while waiting and now + permits.wait(now) < until:
            now += max(permits.wait(now), 0.001)
            look()
        now = max(now, until)
        if event.refused:
            permits.slow_down(now)
        waiting.append(permits.ask(event.purpose, event.resources))
        look()
    while waiting:
        now += max(permits.wait(now), 0.001)
        look()
    return granted


@given(st.lists(asked, max_size=60))
def test_no_more_calls_are_let_through_in_any_time_than_are_granted(events: list[Asked]) -> None:
    times = [at for at, _ in played(events)]

    assert len(times) == len(events)
    for first in range(len(times)):
        for last in range(first, len(times)):
            most = LIMIT.burst + LIMIT.per_second * (times[last] - times[first])
            assert last - first + 1 <= most + 1e-6


@given(st.lists(asked, max_size=40))
def test_no_calls_are_about_more_in_any_time_than_is_granted(events: list[Asked]) -> None:
    limit = Limit(per_second=20, burst=50)
    granted = played(events, resources=limit)

    for first in range(len(granted)):
        for last in range(first, len(granted)):
            about = sum(ticket.resources for _, ticket in granted[first : last + 1])
            assert about <= limit.burst + limit.per_second * (granted[last][0] - granted[first][0]) + 1e-6


def rushed(numbers: dict[Purpose, int]) -> list[Purpose]:
    """Return in what order those are let through who have all asked before there is a token."""
    permits = Permits(TokenBucket(Limit(per_second=1, burst=1), 0.0))
    permits.ask(INTERRUPTION)
    permits.grant(0.0)
    tickets = [permits.ask(purpose) for purpose, number in numbers.items() for _ in range(number)]
    order: list[Purpose] = []
    for now in range(1, len(tickets) + 1):
        before = {id(t) for t in tickets if t.granted}
        permits.grant(float(now))
        order += [t.purpose for t in tickets if t.granted and id(t) not in before]
    return order


numbers = st.dictionaries(st.sampled_from(Purpose), st.integers(0, 60))


@given(numbers)
def test_all_are_let_through_one_with_every_token(asking: dict[Purpose, int]) -> None:
    assert Counter(rushed(asking)) == Counter({p: n for p, n in asking.items() if n})


@given(numbers)
def test_nobody_waits_longer_than_their_share_of_a_tenth_makes_them(asking: dict[Purpose, int]) -> None:
    order = rushed(asking)

    for purpose, number in asking.items():
        last = max((n for n, one in enumerate(order) if one is purpose), default=-1)
        during = order[: last + 1]  # of all these somebody of this purpose was waiting
        for first in range(len(during)):
            for end in range(first, len(during) + 1):
                window = during[first:end]
                assert window.count(purpose) >= (len(window) - len(Purpose)) // 10, (purpose, number)


@given(numbers)
def test_beyond_the_shares_the_most_urgent_comes_first(asking: dict[Purpose, int]) -> None:
    order = rushed(asking)

    left = Counter({p: n for p, n in asking.items() if n})
    early = 0
    for one in order:
        early += one != min(left)
        left[one] -= 1
        left = +left
    assert early <= len(order) * (len(Purpose) - 1) / 10


def test_nobody_overtakes_others_of_their_own_purpose() -> None:
    permits = Permits(TokenBucket(Limit(per_second=1, burst=1), 0.0))
    first, second = permits.ask(PROVISIONING), permits.ask(PROVISIONING)

    permits.grant(0.0)

    assert (first.granted, second.granted) == (True, False)


def test_whoever_waits_no_longer_is_in_nobodys_way() -> None:
    permits = Permits(TokenBucket(Limit(per_second=1, burst=1), 0.0))
    impatient, patient = permits.ask(INTERRUPTION), permits.ask(HOUSEKEEPING)

    permits.withdraw(impatient)
    permits.grant(0.0)

    assert patient.granted


def test_the_least_wait_counts_those_ahead_of_the_same_purpose() -> None:
    permits = Permits(TokenBucket(Limit(per_second=2, burst=1), 0.0))
    tickets = [permits.ask(DISRUPTION) for _ in range(4)]

    assert [permits.least_wait(ticket, 0.0) for ticket in tickets] == [0.0, 0.5, 1.0, 1.5]


def test_a_refusal_halves_the_rate_once_a_second_and_a_tenth_is_left_at_the_least() -> None:
    bucket = TokenBucket(Limit(per_second=10, burst=10), 0.0)

    bucket.slow_down(0.0)
    bucket.slow_down(0.5)  # a call that was under way
    assert bucket.rate == pytest.approx(5.1)
    for second in range(1, 20):
        bucket.slow_down(float(second))
    assert bucket.rate == pytest.approx(1.0, abs=0.2)
    assert bucket.wait(19.0) > 0.9

    bucket.wait(80.0)
    assert bucket.rate == 10


def test_interruptions_come_before_launches_and_those_before_ends_and_upkeep() -> None:
    assert sorted(Purpose) == [INTERRUPTION, PROVISIONING, DISRUPTION, HOUSEKEEPING, TELLING]
    assert purpose_of("CreateFleet") is PROVISIONING
    assert purpose_of("TerminateInstances") is DISRUPTION
    assert purpose_of("CreateTags") is HOUSEKEEPING
