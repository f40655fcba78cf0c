from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, bound_pod, claim, pending_pod
from tests.domain.models import IN_USE, model, promise, see, to_place
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.freed_places import promise_freed_places
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.claims import DECISION, EXPECTED, PROMISED
from treenail.domain.model.nodes import NodeClaim


def on_its_way(*pods: str, name: str = "c2", to_come: str = "") -> NodeClaim:
    """A claim that is not launched yet, and the pods it was made for."""
    return claim(name, annotations={PROMISED: ",".join(pods), DECISION: "d2", EXPECTED: to_come})


def jobs(wanted: int, *, version: int = 1) -> Workload:
    return Workload(uid="jobs", kind="ReplicaSet", name="jobs", resource_version=version, wanted=wanted)


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


def test_a_pod_of_another_namespace_is_not_alike() -> None:
    other = replace(pending_pod("p2"), namespace="other")
    known = model(*IN_USE, on_its_way("p1"), pending_pod("p1"), other)
    see(known, bound_pod("p1", "node-c1", version=2))

    promise_freed_places(known, START)

    assert places(known) == []
    see(known, replace(other, namespace="default", resource_version=3))
    promise_freed_places(known, START)
    assert places(known) == ["p2"]


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


def test_a_place_for_a_pod_to_come_is_another_one_than_that_which_a_pod_left() -> None:
    on_the_other = bound_pod("p1", "node-c1", owner="jobs")
    known = model(*IN_USE, jobs(3), on_its_way("p1", to_come="jobs=2"), on_the_other)

    promise_freed_places(known, START)
    see(known, pending_pod("p2"), pending_pod("p3"))
    promise_freed_places(known, START)

    assert known.promises.to_come("jobs") == 2
    assert places(known)[-1] == "p2"
    assert to_place(known) == ["p3"]


def test_a_place_that_is_wanted_no_more_is_given_to_one_alike_pod_of_another_workload() -> None:
    known = model(*IN_USE, jobs(2), bound_pod("p1", "node-c1", owner="jobs"), on_its_way(to_come="jobs=1"))
    see(known, jobs(1, version=2), pending_pod("p2"))

    promise_freed_places(known, START)
    see(known, pending_pod("p3"))
    promise_freed_places(known, START)

    assert places(known) == ["p2"]
    assert to_place(known) == ["p3"]
