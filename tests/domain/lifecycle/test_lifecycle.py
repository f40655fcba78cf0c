from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import START, at, claim, claim_of, conditions, node_of, resources, view
from treenail.domain.lifecycle.lifecycle import (
    GiveBack,
    MarkInitialized,
    NextStep,
    PatchClaim,
    SyncNode,
    WaitUntil,
    next_step,
)
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import (
    CONSISTENT,
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Condition,
    NodeView,
    Status,
)
from treenail.domain.model.taints import DISRUPTED, NOT_READY, UNREGISTERED, Effect, Taint

TEAM = Taint("team", Effect.NO_SCHEDULE, "web")
BOOT = Taint("boot", Effect.NO_SCHEDULE, "yes")
JOINED = {"labels": {labels.REGISTERED: "true"}}
MINUTE = 60


def joined(of_node: Mapping[str, Any] | None = None, **of_claim: Any) -> NodeView:
    """A launched claim whose node is there, and as it should be."""
    launched = {"conditions": conditions(LAUNCHED), "node_name": "", **of_claim}
    return view(of_claim=launched, of_node={**JOINED, **(of_node or {})})


def registered(of_node: Mapping[str, Any] | None = None, **of_claim: Any) -> NodeView:
    return joined(of_node, **{"conditions": conditions(LAUNCHED, REGISTERED), **of_claim})


def synced(there: NodeView) -> SyncNode:
    step = next_step(there, START)
    assert isinstance(step, SyncNode)
    return step


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(NodeView(node=node_of(view())), id="a node nobody claimed"),
        pytest.param(view(), id="one in use"),
        pytest.param(joined(deleting_since=START), id="one on its way out"),
    ],
)
def test_nothing_is_to_be_done_for(there: NodeView) -> None:
    assert next_step(there, at(10_000)) is None


@pytest.mark.parametrize(
    ("there", "seconds", "step"),
    [
        pytest.param(claim("c1"), 0, WaitUntil(at=at(5 * MINUTE)), id="a launch has five minutes"),
        pytest.param(
            claim("c1"),
            5 * MINUTE,
            GiveBack(claim=claim("c1"), cause=Cause.LAUNCH_TIMEOUT),
            id="and no more",
        ),
        pytest.param(
            replace(claim("c1", provider_id="aws:///a/i-1"), conditions=conditions(LAUNCHED, since=40)),
            60,
            WaitUntil(at=at(40 + 15 * MINUTE)),
            id="a registration has fifteen from the launch",
        ),
        pytest.param(
            claim("c1", provider_id="aws:///a/i-1"),
            60,
            WaitUntil(at=at(15 * MINUTE)),
            id="or from the claim where nobody wrote that down",
        ),
        pytest.param(
            claim("c1", provider_id="aws:///a/i-1"),
            15 * MINUTE,
            GiveBack(claim=claim("c1", provider_id="aws:///a/i-1"), cause=Cause.REGISTRATION_TIMEOUT),
            id="and no more than that",
        ),
    ],
)
def test_a_claim_without_a_node_has_only_so_long(there: Any, seconds: float, step: NextStep) -> None:
    assert next_step(NodeView(claim=there), at(seconds)) == step


def test_a_claim_whose_registered_node_is_gone_was_deleted_by_somebody() -> None:
    left = replace(registered(), node=None)

    assert next_step(left, at(15 * MINUTE)) == GiveBack(claim=claim_of(left), cause=Cause.DELETED)


def test_a_node_that_joins_gets_what_its_claim_says() -> None:
    there = joined(
        {"labels": {"mine": "kept"}, "taints": (UNREGISTERED, TEAM), "resource_version": 7},
        labels={"tier": "web"},
        annotations={"owner": "us", labels.LAUNCH: "5f1e/0/x", labels.TRACEPARENT: "00-1-2-01"},
        taints=(TEAM,),
        startup_taints=(BOOT,),
    )

    step = synced(there)

    assert (step.node.name, step.node.resource_version) == ("node-c1", 7)
    assert step.patch.labels == {"tier": "web", labels.REGISTERED: "true"}
    assert step.patch.annotations == {"owner": "us", labels.TRACEPARENT: "00-1-2-01"}
    assert step.patch.add_taints == (BOOT,)
    assert step.patch.remove_taints == (UNREGISTERED,)
    assert step.patch.owner == ObjectRef(kind="NodeClaim", name="c1", uid="uid-c1")
    assert step.patch.add_finalizers == (labels.TERMINATION_FINALIZER,)


def test_a_node_of_the_old_api_is_a_machines() -> None:
    assert synced(joined({"labels": {}}, generation=Generation.V1ALPHA5)).patch.owner == ObjectRef(
        kind="Machine", name="c1", uid="uid-c1"
    )


def test_a_node_that_brings_its_own_taints_gets_none() -> None:
    there = joined({"labels": {labels.DO_NOT_SYNC_TAINTS: "true"}}, taints=(TEAM,), startup_taints=(BOOT,))

    assert synced(there).patch.add_taints == ()


@pytest.mark.parametrize(
    "there",
    [
        joined({"labels": {}}),
        joined({"taints": (UNREGISTERED,)}),
        joined({"taints": (replace(UNREGISTERED, value="true"),)}),
    ],
)
def test_a_node_is_synced_until_it_says_so_and_the_taint_is_off(there: NodeView) -> None:
    assert synced(there).patch.remove_taints == node_of(there).taints


def test_a_claim_says_which_node_registered() -> None:
    step = next_step(joined(), START)

    assert isinstance(step, PatchClaim)
    assert step.claim == claim_of(joined())
    assert step.patch.node_name == "node-c1"
    assert [(c.type, c.status) for c in step.patch.conditions] == [
        (REGISTERED, Status.TRUE),
        (INITIALIZED, Status.UNKNOWN),
        (READY, Status.UNKNOWN),
    ]


def test_a_node_that_registers_late_is_not_given_back() -> None:
    assert isinstance(next_step(joined(), at(60 * MINUTE)), PatchClaim)


def test_a_node_in_order_is_initialized() -> None:
    there = registered({"resource_version": 9})

    step = next_step(there, START)

    assert isinstance(step, MarkInitialized)
    assert (step.claim, step.node) == (claim_of(there), there.node)
    assert [(c.type, c.status) for c in step.conditions] == [
        (INITIALIZED, Status.TRUE),
        (READY, Status.TRUE),
        (CONSISTENT, Status.TRUE),
    ]


@pytest.mark.parametrize(
    ("there", "done"),
    [
        pytest.param(registered({"conditions": ()}), False, id="not ready"),
        pytest.param(
            registered({"conditions": (Condition(READY, Status.FALSE),)}), False, id="said not to be ready"
        ),
        pytest.param(registered({"taints": (NOT_READY,)}), False, id="with a taint of its start"),
        pytest.param(
            registered({"taints": (BOOT,)}, startup_taints=(BOOT,)), False, id="with a startup taint"
        ),
        pytest.param(
            registered({"taints": (replace(BOOT, value="other"),)}, startup_taints=(BOOT,)),
            False,
            id="with a startup taint of another value",
        ),
        pytest.param(registered({"taints": (TEAM,)}, startup_taints=(BOOT,)), True, id="with other taints"),
        pytest.param(
            registered({"allocatable": resources(cpu=4)}, requests=resources(cpu=1, **{"nvidia.com/gpu": 1})),
            False,
            id="without what its pods ask for",
        ),
        pytest.param(
            registered(
                {"allocatable": resources(cpu=4, **{"nvidia.com/gpu": 0})},
                requests=resources(**{"nvidia.com/gpu": 1}),
            ),
            False,
            id="with none of it yet",
        ),
        pytest.param(
            registered({"allocatable": resources(cpu=4)}, requests=resources(cpu=9, **{"nvidia.com/gpu": 0})),
            True,
            id="without what nobody asks for",
        ),
        pytest.param(registered({"taints": (DISRUPTED,)}), False, id="on its way out"),
    ],
)
def test_a_node_is_initialized_only_in_order(there: NodeView, *, done: bool) -> None:
    assert isinstance(next_step(there, START), MarkInitialized) is done


def test_a_registered_node_that_stays_out_of_order_is_waited_for_and_says_why_once() -> None:
    there = registered({"conditions": ()})
    [registered_condition] = conditions(REGISTERED, since=30)
    there = replace(
        there, claim=replace(claim_of(there), conditions=(*conditions(LAUNCHED), registered_condition))
    )

    assert next_step(there, at(35)) == WaitUntil(at=at(40))
    step = next_step(there, at(40))
    assert isinstance(step, PatchClaim)
    [told] = step.patch.conditions
    assert (told.type, told.status, told.reason) == (INITIALIZED, Status.UNKNOWN, "NodeNotReady")

    saying_so = replace(there, claim=replace(step.claim, conditions=(*step.claim.conditions, told)))
    assert next_step(saying_so, at(60 * MINUTE)) is None


def test_a_node_in_use_that_has_lost_much_says_so_and_says_when_it_is_back() -> None:
    small = view(of_node={"capacity": resources(cpu=3, pods=10)}, of_claim={"requests": resources(cpu=1)})
    step = next_step(small, START)

    assert isinstance(step, PatchClaim)
    assert step.patch.conditions == (
        Condition(CONSISTENT, Status.FALSE, "ConsistencyCheckFailed", "Consistency Check Failed"),
    )
    saying_so = replace(
        small, claim=replace(step.claim, conditions=(*step.claim.conditions, *step.patch.conditions))
    )
    assert next_step(saying_so, START) is None
    whole = replace(saying_so, node=node_of(view()))
    back = next_step(whole, START)
    assert isinstance(back, PatchClaim)
    assert back.patch.conditions == (Condition(CONSISTENT, Status.TRUE, CONSISTENT),)


@pytest.mark.parametrize("there", [joined({"taints": (UNREGISTERED,)}), registered({"taints": (NOT_READY,)})])
@pytest.mark.parametrize("generation", [Generation.V1, Generation.V1ALPHA5])
def test_one_that_expires_before_it_is_in_use_is_given_back(there: NodeView, generation: Generation) -> None:
    expiring = replace(claim_of(there), expire_after=timedelta(minutes=10), generation=generation)
    there = replace(there, claim=expiring)

    given_back = next_step(there, at(10 * MINUTE)) == GiveBack(claim=expiring, cause=Cause.EXPIRED)

    assert given_back == (generation is Generation.V1)


def test_it_is_waited_for_until_then_where_nothing_else_is_to_be_done() -> None:
    there = replace(joined(), node=None)
    soon = replace(claim_of(there), expire_after=timedelta(minutes=3))

    assert next_step(replace(there, claim=soon), START) == WaitUntil(at=at(3 * MINUTE))
