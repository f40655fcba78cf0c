from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, bound_pod, claim, pending_pod
from tests.domain.models import IN_USE, model, promise, see, to_place
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.freed_places import promise_freed_places
from treenail.domain.model.claims import DECISION, PROMISED
from treenail.domain.model.nodes import NodeClaim


def on_its_way(*pods: str, name: str = "c2") -> NodeClaim:
    """A claim that is not launched yet, and the pods it was made for."""
    return claim(name, annotations={PROMISED: ",".join(pods), DECISION: "d2"})


def places(known: ClusterModel, name: str = "c2") -> list[str]:
    return [p.pod for p in known.promises.at(name)]


@pytest.mark.parametrize("restarted", [True, False])
def test_a_pod_whose_place_was_taken_gets_the_place_of_the_one_that_took_it(*, restarted: bool) -> None:
    pods = [pending_pod(f"p{n}") for n in range(1, 6)]
    known = model(*IN_USE, on_its_way("p5"), *pods)
    if not restarted:
        for n in range(1, 5):
            promise(known, f"p{n}", "c1")
    taking = [bound_pod(f"p{n}", "node-c1", version=2) for n in (1, 2, 3, 5)]
    see(known, *taking)

    promise_freed_places(known, START)

    assert to_place(known) == []
    assert places(known) == ["p4"]
    assert [p.decision for p in known.promises.at("c2")] == ["d2"]


def test_a_place_is_given_away_once() -> None:
    known = model(*IN_USE, on_its_way("p1", "p2"), *(pending_pod(f"p{n}") for n in range(2, 6)))
    see(known, bound_pod("p1", "node-c1"))

    promise_freed_places(known, START)
    promise_freed_places(known, START)

    assert places(known) == ["p2", "p3"]
    assert to_place(known) == ["p4", "p5"]


def test_a_pod_that_still_runs_where_it_must_leave_keeps_its_place() -> None:
    known = model(*IN_USE, on_its_way("p1"), pending_pod("p2"), bound_pod("p1", "node-c1"))
    known.mark_for_disruption("c1")
    promise(known, "p1", "c2")

    promise_freed_places(known, START)

    assert places(known) == ["p1"]
    assert to_place(known) == ["p2"]


def test_the_pod_that_waited_longest_comes_first() -> None:
    young = replace(pending_pod("p2"), created_at=at(5))
    known = model(*IN_USE, on_its_way("p1"), young, pending_pod("p3"), bound_pod("p1", "node-c1"))

    promise_freed_places(known, START)

    assert places(known) == ["p3"]


def test_a_pod_that_is_not_alike_waits_for_a_decision() -> None:
    known = model(*IN_USE, on_its_way("p1"), pending_pod("p2", "500m"), bound_pod("p1", "node-c1"))

    promise_freed_places(known, START)

    assert to_place(known) == ["p2"]


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "waiting"])
def test_a_place_is_left_by_a_pod_that_is_bound_and_by_no_other(*, gone: bool) -> None:
    own = () if gone else (pending_pod("p1"),)
    known = model(*IN_USE, on_its_way("p1"), pending_pod("p2"), *own)

    promise_freed_places(known, START)

    assert to_place(known) == ["p2"]


@pytest.mark.parametrize(
    "other",
    [
        replace(on_its_way("p1"), provider_id="aws:///a/i-2"),
        replace(on_its_way("p1"), deleting_since=START),
    ],
    ids=["launched", "leaving"],
)
def test_a_claim_that_is_launched_or_goes_is_left_to_decisions(other: NodeClaim) -> None:
    known = model(*IN_USE, other, pending_pod("p2"), bound_pod("p1", "node-c1"))

    promise_freed_places(known, START)

    assert to_place(known) == ["p2"]
