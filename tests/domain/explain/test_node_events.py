"""What is told of claims and nodes that change, and of pods that are kept for a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, at, bound_pod, changed, claim_of, conditions, gone, node_of, resources, view
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.explain.node_events import NodeEvents
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claims import PROMISED
from treenail.domain.model.do_not_disrupt import kept_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.fleets import NO_SPOT
from treenail.domain.model.nodes import LAUNCHED, NodeView
from treenail.domain.model.taints import UNREGISTERED

CLAIM, NODE = "NodeClaim c1", "Node node-c1"


def told(events: NodeEvents, *views: NodeView) -> list[tuple[str, str, str]]:
    """Return what is told of views as they change, (whom, reason, message)."""
    return [(str(e.about), e.reason, e.message) for one in views for e in events.note(changed(one), START)]


def joining(**of_node: Any) -> NodeView:
    """A launched claim whose node has just joined."""
    return view(of_claim={"conditions": conditions(LAUNCHED), "node_name": ""}, of_node=of_node)


@pytest.mark.parametrize(
    ("of_node", "missing"),
    [
        ({}, True),
        ({"taints": (UNREGISTERED,)}, False),
        ({"labels": {labels.REGISTERED: "true"}}, False),
        ({"annotations": {labels.MADE_EARLY: "c1"}}, False),
    ],
)
def test_a_node_that_joins_without_the_taint_is_told_of(of_node: dict[str, Any], *, missing: bool) -> None:
    there = joining(**of_node)
    message = "Missing karpenter.sh/unregistered taint: pods may come to the node before it is registered"

    expected = [(CLAIM, "UnregisteredTaintMissing", message)] if missing else []
    assert told(NodeEvents(), NodeView(claim=there.claim), there, there) == expected


def test_a_node_that_has_much_less_than_its_claim_says_is_told_of_once() -> None:
    of_claim = {"requests": resources(cpu=1)}
    whole = view(of_claim=of_claim)
    small = view(of_claim=of_claim, of_node={"capacity": resources(cpu=2, pods=10)})

    message = "expected 4 of resource cpu, but found 2 (50.0% of expected)"
    assert told(NodeEvents(), whole, small, small) == [(CLAIM, "FailedConsistencyCheck", message)]


def test_what_held_a_claim_to_the_end_is_told_when_it_is_gone() -> None:
    events = NodeEvents()
    told(events, view(of_claim={"deleting_since": START, "finalizers": (labels.TERMINATION_FINALIZER,)}))

    [event] = events.note(gone("c1"), START)

    assert (event.reason, event.message) == ("Finalized", "Finalized karpenter.sh/termination")


@pytest.mark.parametrize(
    ("code", "reasons"),
    [
        ("InsufficientInstanceCapacity", ["InsufficientCapacityError"]),
        (NO_SPOT, ["InsufficientCapacityError", "SpotServiceLinkedRoleMissing"]),
    ],
)
def test_a_claim_tells_why_it_was_not_launched_and_whether_the_role_of_spot_is_missing(
    code: str, reasons: list[str]
) -> None:
    events = NodeEvents()
    told(events, NodeView(claim=claim_of(view())))

    failed = ClaimFailed(claim="c1", cause=Cause.INSUFFICIENT_CAPACITY, why=f"{code}: no")

    assert [(str(e.about), e.reason, e.warning) for e in events.failed(failed)] == [
        (CLAIM, reason, True) for reason in reasons
    ]


# --- replacements


def replaced(cause: Cause = Cause.DRIFTED) -> NodeEvents:
    """Events, of a node c1 with the pod p1 that is replaced."""
    events, there = NodeEvents(), view()
    told(events, there)
    list(events.disrupting(DisruptNodes(nodes=(there,), cause=cause, replaced_first=True, decided_at=START)))
    list(events.note(changed(there, bound_pod("p1", "node-c1"), going=True), START))
    return events


def replacement(pods: str, **of_claim: Any) -> NodeView:
    bare = claim_of(view("c2"))
    fields = {
        "annotations": {PROMISED: pods},
        "conditions": (),
        "provider_id": "",
        "node_name": "",
        **of_claim,
    }
    return NodeView(claim=replace(bare, **fields))


@pytest.mark.parametrize(("cause", "why"), [(Cause.DRIFTED, "Drifted"), (Cause.EXPIRED, "Expired")])
def test_a_claim_made_for_pods_of_a_replaced_node_tells_so_and_what_is_waited_for(
    cause: Cause, why: str
) -> None:
    events = replaced(cause)
    launched = replacement("p0,p1", provider_id="aws:///a/i-2", conditions=conditions(LAUNCHED))

    assert told(events, replacement("p0,p1", uid="")) == []
    assert told(events, replacement("p0,p1")) == [
        ("NodeClaim c2", "DisruptionLaunching", f"Launching NodeClaim: {why}")
    ]
    found = told(events, launched, launched)
    waiting = ("NodeClaim c2", "DisruptionWaitingReadiness", "Waiting on readiness to continue disruption")
    assert found.count(waiting) == 1


def test_a_claim_for_other_pods_is_no_replacement() -> None:
    assert told(replaced(), replacement("p7")) == []


def test_when_the_replaced_node_stays_nothing_replaces_it() -> None:
    events = replaced()
    told(events, view())

    assert told(events, replacement("p1")) == []


def test_nodes_that_are_given_back_empty_have_no_replacement() -> None:
    assert told(replaced(Cause.EMPTY), replacement("p1")) == []


# --- pods kept for a time


@pytest.mark.parametrize(
    ("value", "seconds", "expected"),
    [
        ("true", 0, None),
        ("1h", 60, ("DoNotDisruptUntil", "will elapse at 2026-01-01T01:00:00Z", False)),
        ("1h", 7200, ("DoNotDisruptGracePeriodElapsed", "has elapsed", False)),
        ("soon", 0, ("InvalidDoNotDisruptAnnotation", '"soon"', True)),
        ("-5m", 0, ("InvalidDoNotDisruptAnnotation", '"-5m"', True)),
        ("0s", 0, ("InvalidDoNotDisruptAnnotation", '"0s"', True)),
    ],
)
def test_a_pod_on_a_node_that_goes_is_told_how_long_it_is_kept(
    value: str, seconds: float, expected: tuple[str, str, bool] | None
) -> None:
    pod = replace(bound_pod("p1", "node-c1"), annotations={labels.DO_NOT_DISRUPT: value}, started_at=START)

    found: list[ClusterEvent] = list(kept_pod(pod, at(seconds)))

    if expected is None:
        assert found == []
        return
    [event] = found
    assert (event.about.name, event.reason, event.warning) == ("p1", expected[0], expected[2])
    assert expected[1] in event.message


def test_pods_that_say_nothing_are_not_told_of() -> None:
    assert list(kept_pod(bound_pod("p1", node_of(view()).name), START)) == []
