from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import at, bound_pod, claim, conditions, node, pending_pod, spec
from treenail.domain.lifecycle.early_binding import BindPods, MakeNode, early_node, early_step, may_bind
from treenail.domain.lifecycle.lifecycle import WaitUntil
from treenail.domain.lifecycle.lifecycle import next_step as next_life_step
from treenail.domain.model import labels
from treenail.domain.model.nodes import READY, Condition, Node, NodeClaim, NodeView, Status, awaited
from treenail.domain.model.pods import Pod, PodAffinityTerm, PodResourceClaim, PodVolume, TopologySpread
from treenail.domain.model.taints import (
    NOT_READY,
    UNREACHABLE,
    UNREGISTERED,
    Effect,
    Taint,
    Toleration,
    TolerationOperator,
)
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.drain import DeleteNode
from treenail.domain.termination.drain_table import next_step as next_drain_step
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

HARD = TopologySpread(topology_key=labels.ZONE, max_skew=1, hard=True)
BOOT = Taint("boot", Effect.NO_SCHEDULE)
PROVIDER = "aws:///a/i-1"


def launched(**fields: Any) -> NodeClaim:
    return replace(claim("c1", provider_id=PROVIDER), **fields)


def made(of: NodeClaim | None = None) -> Node:
    return early_node(of or launched(), "n1", at(0))


# --- what may be bound


@pytest.mark.parametrize(
    "fields",
    [
        {"scheduler_name": "another"},
        {"scheduling_gates": ("wait",)},
        {"volumes": (PodVolume(name="data", claim_name="data"),)},
        {"resource_claims": (PodResourceClaim("gpu", "shared"),)},
        {"spread": (HARD,)},
        {"pod_affinity": (PodAffinityTerm(topology_key=labels.HOSTNAME, anti=True),)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_pod_with_something_left_to_the_scheduler_is_left_to_it(fields: dict[str, Any]) -> None:
    pod = pending_pod("p")

    assert may_bind(pod, launched())
    assert not may_bind(replace(pod, spec=spec(**fields)), launched())


def test_preferences_are_no_reason_to_wait() -> None:
    soft = replace(HARD, hard=False)
    near = PodAffinityTerm(topology_key=labels.HOSTNAME, weight=1)

    assert may_bind(replace(pending_pod("p"), spec=spec(spread=(soft,), pod_affinity=(near,))), launched())


def test_a_pod_that_does_not_bear_a_startup_taint_waits_for_what_it_stands_for() -> None:
    booting = launched(startup_taints=(BOOT,))

    assert not may_bind(pending_pod("p"), booting)
    assert may_bind(replace(pending_pod("p"), spec=spec(tolerations=(Toleration(key="boot"),))), booting) is (
        Toleration(key="boot").tolerates(BOOT)
    )


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", UNREACHABLE])
def test_a_pod_that_would_leave_a_node_that_is_not_ready_is_not_sent_to_one(key: str) -> None:
    def bearing(seconds: int) -> Pod:
        toleration = Toleration(
            key=key, operator=TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE, seconds=seconds
        )
        return replace(pending_pod("p"), spec=spec(tolerations=(toleration,)))

    assert may_bind(bearing(300), launched())
    assert not may_bind(bearing(60), launched())


def test_a_pod_that_stands_elsewhere_still_is_not_bound() -> None:
    assert not may_bind(bound_pod("p", "n0"), launched())


# --- what comes next


def test_a_launched_claim_with_promised_pods_gets_its_node_first_and_then_its_pods() -> None:
    of, pods = launched(), (pending_pod("p"), pending_pod("q"))

    assert early_step(NodeView(claim=of), pods) == MakeNode(claim=of)
    assert early_step(NodeView(claim=of, node=made(of)), pods) == BindPods(node="n1", pods=pods)


@pytest.mark.parametrize(
    "view",
    [
        NodeView(claim=claim("c1")),
        NodeView(claim=launched(deleting_since=at(1))),
        NodeView(claim=launched(conditions=conditions("Registered")), node=made()),
        NodeView(claim=launched(), node=node("n1")),
        NodeView(node=made()),
    ],
    ids=["not launched", "leaving", "registered", "came by itself", "nobody's"],
)
def test_otherwise_nothing_is_bound_early(view: NodeView) -> None:
    assert early_step(view, (pending_pod("p"),)) is None


def test_without_a_pod_to_bind_no_node_is_made() -> None:
    assert early_step(NodeView(claim=launched()), ()) is None


# --- the node


def test_the_node_made_is_the_claims_and_keeps_pods_away_without_driving_them_out() -> None:
    of = launched(taints=(BOOT,), labels={"tier": "web"}, uid="u1")

    there = early_node(of, "n1", at(0))

    assert there.taints == (BOOT, NOT_READY)
    assert not any(t.same_mark(UNREGISTERED) or t.effect is Effect.NO_EXECUTE for t in there.taints)
    assert there.labels == {"tier": "web", labels.HOSTNAME: "n1"}
    assert there.provider_id == PROVIDER
    assert [(c.type, c.status) for c in there.conditions] == [(READY, Status.FALSE)]
    assert (there.capacity, there.allocatable) == (of.capacity, of.allocatable)
    assert [(o.kind, o.name, o.uid) for o in there.owners] == [("NodeClaim", "c1", "u1")]


@pytest.mark.parametrize(
    ("status", "waits"), [(None, True), ("Unknown", True), ("False", False), ("True", False)]
)
def test_a_node_is_awaited_until_a_kubelet_speaks_for_it(status: str | None, waits: bool) -> None:  # noqa: FBT001
    said = () if status is None else (Condition(type=READY, status=Status(status)),)

    assert awaited(replace(made(), conditions=said)) is waits
    assert not awaited(replace(made(), conditions=said, annotations={}))


def test_an_awaited_node_is_not_registered_before_its_machine_joins() -> None:
    of = launched()
    ready = (Condition(type=READY, status=Status.FALSE),)

    assert isinstance(next_life_step(NodeView(claim=of, node=made(of)), at(1)), WaitUntil)
    joined = replace(made(of), conditions=ready)
    assert not isinstance(next_life_step(NodeView(claim=of, node=joined), at(1)), WaitUntil)


# --- when the machine never comes


def test_a_node_whose_machine_never_joined_goes_and_its_pods_are_not_waited_for() -> None:
    of = launched(deleting_since=at(900))
    state = Leaving(cause="registration_timeout", trace=SpanContext.root("x"), began_at=at(900))  # type: ignore[arg-type]
    pods = (bound_pod("p", "n1"),)

    first = next_drain_step(NodeView(claim=of, node=made(of)), pods, state, at(900))
    assert first == DeleteNode(node=made(of))

    going = replace(made(of), deleting_since=at(900))
    then = next_drain_step(NodeView(claim=of, node=going), pods, state, at(900))
    assert then == MoveOut(evict=(), delete=((pods[0], 0),))

    last = next_drain_step(NodeView(claim=of, node=going), (), state, at(900))
    assert type(last).__name__ == "Terminate"
