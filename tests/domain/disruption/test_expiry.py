from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.builders import START, at, claim, node_pool
from treenail.domain.disruption.candidates import Candidates
from treenail.domain.disruption.disruption import DisruptionRefused
from treenail.domain.disruption.expiry import expires_at, forceful
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Disruption, Generation, NodePool
from treenail.domain.model.nodes import FOREVER, NodeClaim

MINUTE = timedelta(minutes=1)


def pool(life: timedelta | None = None) -> NodePool:
    return replace(node_pool(), disruption=Disruption(expire_after=life))


def living(
    name: str = "c1", *, life: timedelta | None = MINUTE, created: float = 0, old: bool = False
) -> NodeClaim:
    generation = Generation.V1ALPHA5 if old else Generation.V1
    return replace(claim(name), expire_after=life, created_at=at(created), generation=generation)


@pytest.mark.parametrize(
    ("life", "of_pool", "expires"),
    [
        pytest.param(MINUTE, None, at(60), id="what the claim says"),
        pytest.param(MINUTE, 2 * MINUTE, at(60), id="the claim comes before its pool"),
        pytest.param(None, 2 * MINUTE, at(120), id="what its pool says"),
        pytest.param(None, None, None, id="neither says"),
        pytest.param(FOREVER, MINUTE, None, id="never"),
    ],
)
def test_a_claim_expires_so_long_after_its_creation(
    life: timedelta | None, of_pool: timedelta | None, expires: datetime | None
) -> None:
    assert expires_at(living(life=life), pool(of_pool)) == expires


def test_without_its_pool_a_claim_that_says_nothing_lives_on() -> None:
    assert expires_at(living(life=None), None) is None


def test_only_claims_of_the_old_api_go_as_budgets_allow() -> None:
    assert (forceful(living()), forceful(living(old=True))) == (True, False)


def known(*claims: NodeClaim) -> Candidates:
    made = Candidates()
    for one in claims:
        made.note(one.name, one)
    return made


def refusal(*names: str) -> DisruptionRefused:
    return DisruptionRefused(pool="default", candidates=names, why=Block.CHANGED.by())


def proposed(candidates: Candidates, seconds: float) -> list[tuple[tuple[str, ...], bool]]:
    """Return what is proposed so many seconds after the start: names, and whether it is forceful."""
    return [(p.candidates, p.forceful) for p in candidates.propose(pool(), at(seconds))]


def test_nodes_are_proposed_when_their_time_is_over_the_oldest_first() -> None:
    candidates = known(living("c1", created=20), living("c2"), living("c3", created=30))

    assert proposed(candidates, 59) == []
    assert candidates.next_due(pool()) == at(60)
    assert proposed(candidates, 80) == [(("c2", "c1"), True)]
    assert candidates.next_due(pool()) == at(90)


def test_forceful_ends_are_proposed_apart() -> None:
    candidates = known(living("c1"), living("c2", old=True))

    assert proposed(candidates, 60) == [(("c1",), True), (("c2",), False)]
    assert {p.cause for p in candidates.propose(pool(), at(120))} == {Cause.EXPIRED}


def test_a_node_that_is_not_in_use_any_more_is_not_proposed() -> None:
    candidates = known(living("c1"))

    candidates.note("c1", None)

    assert proposed(candidates, 60) == []


def test_a_node_that_was_refused_is_proposed_again_after_ten_seconds_however_often() -> None:
    candidates = known(living("c1"))

    for seconds in (60, 70, 80, 90):
        assert proposed(candidates, seconds) == [(("c1",), True)]
        candidates.refuse(refusal("c1", "stranger"), at(seconds), 0.0)
        assert candidates.next_due(pool()) == at(seconds + 10)


@pytest.mark.parametrize(("chance", "waits"), [(0.0, [60, 120, 240]), (1.0, [30, 60, 120])])
def test_a_node_whose_pods_have_nowhere_to_go_is_proposed_after_longer_and_longer(
    chance: float, waits: list[float]
) -> None:
    candidates = known(living("c1"))
    now: datetime | None = START + MINUTE
    for wait in waits:
        assert now is not None
        assert candidates.propose(pool(), now)
        candidates.refuse(replace(refusal("c1"), lasting=True), now, chance)
        later = candidates.next_due(pool())
        assert later == now + timedelta(seconds=wait)
        now = later


def test_a_node_that_came_back_is_proposed_after_longer_and_longer_but_for_ten_minutes() -> None:
    candidates = known(living("c1"))
    times: list[datetime] = []
    now: datetime | None = START + MINUTE
    while len(times) < 7 and now is not None:
        assert candidates.propose(pool(), now)
        times.append(now)
        candidates.note("c1", None)
        candidates.note("c1", living("c1"))
        now = candidates.next_due(pool())

    waits = [(later - sooner) // MINUTE for sooner, later in pairwise(times)]
    assert waits == [1, 2, 4, 8, 10, 10]
