from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at
from tests.domain.disruption.consolidating import AT_ONCE, its_claim, its_node, its_pod, known, pool
from treenail.domain.disruption.consolidation_candidates import consolidation_candidates
from treenail.domain.disruption.consolidation_windows import (
    consolidatable_at,
    not_receiving,
    note_consolidatable,
)
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import CONSOLIDATABLE, INITIALIZED, Condition, NodeClaim, Status
from treenail.domain.model.patches import ClaimPatch

MINUTE = timedelta(minutes=1)
SHOWN = Condition(CONSOLIDATABLE, Status.TRUE, CONSOLIDATABLE, since=START)
PATIENT = pool(disruption=replace(AT_ONCE, consolidate_after=MINUTE))
NEVER = pool(disruption=replace(AT_ONCE, consolidate_after=None))


def in_use(*, since: float = 0, last_event: float | None = None, shown: bool = False) -> NodeClaim:
    initialized = Condition(INITIALIZED, Status.TRUE, since=at(since))
    return its_claim(
        conditions=(initialized, SHOWN) if shown else (initialized,),
        last_pod_event_at=None if last_event is None else at(last_event),
    )


@pytest.mark.parametrize(
    ("claim", "own", "when"),
    [
        pytest.param(in_use(since=5), PATIENT, at(65), id="since it is in use"),
        pytest.param(in_use(since=5, last_event=30), PATIENT, at(90), id="since its last pod event"),
        pytest.param(
            in_use(since=5, last_event=2), PATIENT, at(62), id="though that was before it was in use"
        ),
        pytest.param(in_use(since=5), pool(), at(5), id="at once"),
        pytest.param(in_use(since=5), NEVER, None, id="never"),
        pytest.param(in_use(since=5), None, None, id="no pool"),
        pytest.param(its_claim(conditions=()), PATIENT, None, id="not in use"),
    ],
)
def test_a_node_is_consolidatable_when_pods_left_it_alone_for_long_enough(
    claim: NodeClaim, own: NodePool | None, when: datetime | None
) -> None:
    assert consolidatable_at(claim, own) == when


@pytest.mark.parametrize(
    ("claim", "own", "seconds", "patch"),
    [
        pytest.param(in_use(), PATIENT, 59, None, id="not yet"),
        pytest.param(in_use(), PATIENT, 60, ClaimPatch(conditions=(replace(SHOWN, since=None),)), id="now"),
        pytest.param(in_use(shown=True), PATIENT, 60, None, id="known"),
        pytest.param(
            in_use(shown=True, last_event=30),
            *(PATIENT, 60, ClaimPatch(remove_conditions=(CONSOLIDATABLE,))),
            id="not any more",
        ),
        pytest.param(
            in_use(shown=True), NEVER, 60, ClaimPatch(remove_conditions=(CONSOLIDATABLE,)), id="never again"
        ),
        pytest.param(
            replace(in_use(), generation=Generation.V1ALPHA5), PATIENT, 60, None, id="machines have no such"
        ),
    ],
)
def test_a_claim_says_whether_its_node_is_consolidatable(
    claim: NodeClaim, own: NodePool, seconds: float, patch: ClaimPatch | None
) -> None:
    assert note_consolidatable(claim, own, at(seconds)) == patch


def test_nodes_receive_no_running_pods_within_their_window_or_before_they_are_in_use() -> None:
    fresh = replace(in_use(last_event=50), name="c2", provider_id="aws:///a/c2")
    old = replace(fresh, name="c3", provider_id="aws:///a/c3", generation=Generation.V1ALPHA5)
    coming = its_claim("c4", conditions=())
    model = known(PATIENT, in_use(), its_node(), fresh, its_node("c2"), old, its_node("c3"), coming)

    assert not_receiving(model, at(60)) == {"c2": at(110), "c4": None}
    assert not_receiving(model, at(110)) == {"c4": None}


@pytest.mark.parametrize("said", [None, 5.0, 29.0])
def test_a_pod_event_counts_before_its_claim_says_so(said: float | None) -> None:
    model = known(PATIENT, in_use(last_event=said), its_node(), its_pod())

    model.pod_events.note("c1", at(30))

    for seconds, within in ((89, True), (90, False)):
        going = consolidation_candidates(model, at(seconds)).candidates
        assert [one.name for one in going] == ([] if within else ["c1"])
        assert not_receiving(model, at(seconds)) == ({"c1": at(90)} if within else {})


def test_an_event_that_a_claim_tells_of_counts_where_none_was_heard_since() -> None:
    model = known(PATIENT, in_use(last_event=40), its_node(), its_pod())

    model.pod_events.note("c1", at(30))

    assert not_receiving(model, at(99)) == {"c1": at(100)}
    assert not_receiving(model, at(100)) == {}


def test_the_events_of_a_claim_that_is_gone_are_forgotten() -> None:
    model = known(PATIENT, in_use(), its_node())
    model.pod_events.note("c1", at(30))

    model.drop_claim("c1")

    assert model.pod_events.on(in_use()) == in_use()


@given(st.integers(0, 200), st.one_of(st.none(), st.integers(0, 200)), st.booleans())
def test_what_was_written_once_is_not_written_again(now: int, last: int | None, shown: bool) -> None:  # noqa: FBT001
    claim = in_use(last_event=last, shown=shown)
    patch = note_consolidatable(claim, PATIENT, at(now))
    if patch is not None:
        left = tuple(one for one in claim.conditions if one.type not in patch.remove_conditions)
        claim = replace(claim, conditions=(*left, *patch.conditions))

    assert note_consolidatable(claim, PATIENT, at(now)) is None
