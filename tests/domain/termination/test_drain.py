from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import START, at, bound_pod, claim, claim_of, conditions, node_of, view
from tests.domain.drains import CALL, DELETING, EXCLUDED, MARK, TAINTED, V1ALPHA5, going, leaving
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import marked, uncordon
from treenail.domain.model.node_deadlines import deadline_of
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import LAUNCHED, NodeView
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.taints import DISRUPTED, UNREGISTERED, Toleration, TolerationOperator
from treenail.domain.termination.drain import (
    Abandon,
    AwaitGone,
    Cordon,
    DeleteClaim,
    DeleteNode,
    FindInstance,
    LetGo,
    Step,
    Terminate,
    seen_gone,
    surely_nothing,
)
from treenail.domain.termination.drain_table import next_step
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving


def pod(uid: str = "p1", **fields: Any) -> Pod:
    return replace(bound_pod(uid, "node-c1"), **fields)


def daemon(uid: str = "d1", **fields: Any) -> Pod:
    return pod(uid, owners=(Owner(kind="DaemonSet", name="logs", uid="logs"),), **fields)


def critical(of: Pod) -> Pod:
    return replace(of, spec=replace(of.spec, priority_class="system-node-critical"))


def patient(of: Pod, grace: int) -> Pod:
    return replace(of, spec=replace(of.spec, grace_seconds=grace))


TOLERANT = Toleration(operator=TolerationOperator.EXISTS)
MIRROR = pod("m1", owners=(Owner(kind="Node", name="node-c1", uid="n"),))
STAYS = replace(daemon("s1"), spec=replace(daemon().spec, tolerations=(TOLERANT,)))
CORDONS = Toleration("node.kubernetes.io/unschedulable", TolerationOperator.EXISTS)
BEARS_CORDON = replace(daemon("b1"), spec=replace(daemon().spec, tolerations=(CORDONS,)))
PROTECTED = pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})
FOR_NOTHING = pod("free", annotations={labels.POD_DELETION_COST: str(-(2**27))})

SETTLED = 10


@pytest.mark.parametrize(
    ("there", "pods", "state", "seconds", "step"),
    [
        # cordon
        pytest.param(
            view(),
            (),
            leaving(),
            0,
            Cordon(node=node_of(view()), patch=NodePatch(labels=EXCLUDED, add_taints=(DISRUPTED,))),
            id="a node of a newer API is tainted first",
        ),
        pytest.param(
            view(of_claim=V1ALPHA5),
            (),
            leaving(),
            0,
            Cordon(node=node_of(view()), patch=NodePatch(labels=EXCLUDED, unschedulable=True)),
            id="one of the old API is made unschedulable",
        ),
        pytest.param(
            NodeView(node=node_of(view())),
            (),
            leaving(),
            0,
            Cordon(node=node_of(view()), patch=NodePatch(labels=EXCLUDED, add_taints=(DISRUPTED,))),
            id="one without a claim is tainted",
        ),
        pytest.param(
            view(of_node={"unschedulable": True}),
            (),
            leaving(),
            0,
            Cordon(
                node=node_of(view(of_node={"unschedulable": True})),
                patch=NodePatch(labels=EXCLUDED, add_taints=(DISRUPTED,)),
            ),
            id="one that a user has cordoned is tainted, as daemons put up with a cordon",
        ),
        pytest.param(
            view(of_claim=V1ALPHA5, of_node={"unschedulable": True}),
            (),
            leaving(),
            0,
            DeleteClaim(claim=claim_of(view(of_claim=V1ALPHA5))),
            id="one of the old API that a user has cordoned is cordoned",
        ),
        pytest.param(
            view(of_claim={"conditions": conditions(LAUNCHED)}, of_node={"taints": (UNREGISTERED,)}),
            (),
            leaving(),
            0,
            DeleteClaim(claim=claim_of(view(of_claim={"conditions": conditions(LAUNCHED)}))),
            id="one that has not registered is not cordoned",
        ),
        pytest.param(
            view(of_claim={"conditions": conditions(LAUNCHED)}),
            (),
            leaving(),
            0,
            Cordon(node=node_of(view()), patch=NodePatch(labels=EXCLUDED, add_taints=(DISRUPTED,))),
            id="one that takes pods already is, though its claim does not say yet that it registered",
        ),
        # the way back
        pytest.param(
            view(of_node=TAINTED),
            (),
            leaving(Cause.EMPTY, cordoned_at=at(2)),
            6.9,
            at(7),
            id="an empty node is looked at for five seconds after the cordon",
        ),
        pytest.param(
            view(of_node=TAINTED),
            (daemon(), MIRROR),
            leaving(Cause.EMPTY, cordoned_at=at(2)),
            7,
            DeleteClaim(claim=claim_of(view())),
            id="with nothing but daemons and its own pods it goes",
        ),
        pytest.param(
            view(of_node=TAINTED),
            (daemon(), FOR_NOTHING, replace(pod("stops"), deleting_since=at(300))),
            leaving(Cause.EMPTY, cordoned_at=at(2)),
            7,
            DeleteClaim(claim=claim_of(view())),
            id="with pods that cost nothing to evict, or are stopping, it goes as well",
        ),
        pytest.param(
            going(),
            (FOR_NOTHING, replace(pod("stops"), deleting_since=at(300))),
            leaving(Cause.EMPTY, cordoned_at=at(2)),
            8,
            MoveOut(evict=(FOR_NOTHING,), delete=()),
            id="then the former are evicted, and the latter waited for",
        ),
        pytest.param(
            view(of_node=TAINTED),
            (pod(),),
            leaving(Cause.EMPTY, cordoned_at=at(2)),
            60,
            Abandon(
                node=node_of(view(of_node=TAINTED)),
                patch=NodePatch(remove_labels=tuple(EXCLUDED), remove_taints=(DISRUPTED,)),
            ),
            id="with a pod it stays",
        ),
        pytest.param(
            view(of_node={**TAINTED, **DELETING}),
            (pod(),),
            leaving(Cause.EMPTY),
            0,
            DeleteClaim(claim=claim_of(view())),
            id="a node that is being deleted does not stay",
        ),
        pytest.param(
            view(of_node=TAINTED),
            (pod(),),
            leaving(Cause.SPOT_INTERRUPTED),
            0,
            DeleteClaim(claim=claim_of(view())),
            id="an interrupted one goes with all its pods",
        ),
        pytest.param(
            replace(view(), node=None),
            (),
            leaving(Cause.EMPTY),
            0,
            DeleteClaim(claim=claim_of(view())),
            id="a claim whose node is gone goes at once",
        ),
        # claims that have no instance
        pytest.param(
            NodeView(claim=claim("c1", leaving=True)),
            (),
            leaving(),
            0,
            LetGo(node=None, claim=claim("c1", leaving=True)),
            id="a claim that was never marked is let go",
        ),
        pytest.param(
            NodeView(claim=claim("c1", leaving=True, annotations=MARK)),
            (),
            leaving(),
            59,
            at(60),
            id="a marked one is kept until its call is answered",
        ),
        pytest.param(
            NodeView(claim=claim("c1", leaving=True, annotations=MARK)),
            (),
            leaving(),
            60,
            FindInstance(claim=claim("c1", leaving=True, annotations=MARK), token=CALL),
            id="then its instance is looked for",
        ),
        pytest.param(
            NodeView(claim=claim("c1", leaving=True, annotations=MARK)),
            (),
            leaving(nothing_bought=True),
            60,
            LetGo(node=None, claim=claim("c1", leaving=True, annotations=MARK)),
            id="and if there is none it is let go",
        ),
        # drain
        pytest.param(
            going(of_node={"deleting_since": None}),
            (pod(),),
            leaving(),
            SETTLED,
            DeleteNode(node=node_of(going(of_node={"deleting_since": None}))),
            id="the node is deleted before it is drained",
        ),
        pytest.param(
            going(),
            (MIRROR, STAYS),
            leaving(),
            SETTLED,
            Terminate(claim=claim_of(going())),
            id="nobody waits for a node's own pods and for those that bear the taint",
        ),
        pytest.param(
            going(of_claim=V1ALPHA5, of_node={"unschedulable": True, "taints": ()}),
            (BEARS_CORDON,),
            leaving(),
            SETTLED,
            Terminate(claim=claim_of(going(of_claim=V1ALPHA5))),
            id="nor, in the old API, for those that bear a cordon",
        ),
        pytest.param(
            going(),
            (BEARS_CORDON,),
            leaving(),
            SETTLED,
            MoveOut(evict=(BEARS_CORDON,), delete=()),
            id="a cordon is not what nodes of a newer API have",
        ),
        pytest.param(
            going(),
            (),
            leaving(cordoned_at=at(1)),
            5.9,
            at(6),
            id="pods bound before the cordon was seen may show up for five seconds",
        ),
        # the end
        pytest.param(
            going(),
            (pod("late"),),
            leaving(drained_at=at(5)),
            6,
            Terminate(claim=claim_of(going())),
            id="a drain is over once",
        ),
        pytest.param(
            going(of_claim={"conditions": conditions(LAUNCHED)}, of_node={"taints": (UNREGISTERED,)}),
            (pod(),),
            leaving(),
            0,
            Terminate(claim=claim_of(going(of_claim={"conditions": conditions(LAUNCHED)}))),
            id="a node that never registered is not drained",
        ),
        pytest.param(
            replace(going(), node=None),
            (),
            leaving(),
            0,
            Terminate(claim=claim_of(going())),
            id="nor one that is gone",
        ),
        pytest.param(
            going(),
            (),
            leaving(drained_at=at(5), terminated_at=at(6)),
            7,
            AwaitGone(claim=claim_of(going())),
            id="the instance is waited for",
        ),
        pytest.param(
            going(),
            (),
            leaving(drained_at=at(5), terminated_at=at(6), gone=True),
            7,
            LetGo(node=node_of(going()), claim=claim_of(going())),
            id="then both objects are let go",
        ),
        pytest.param(
            NodeView(node=node_of(going())),
            (),
            leaving(),
            SETTLED,
            LetGo(node=node_of(going()), claim=None),
            id="a node without a claim is let go when it is drained",
        ),
    ],
)
def test_the_next_step_is(
    there: NodeView, pods: tuple[Pod, ...], state: Leaving, seconds: float, step: Step
) -> None:
    assert next_step(there, pods, state, at(seconds)) == step


@pytest.mark.parametrize(
    ("there", "abandoned"),
    [
        pytest.param(view(), False, id="a node in use"),
        pytest.param(view(of_node=TAINTED), True, id="a tainted one"),
        pytest.param(view(of_node={"unschedulable": True, "labels": EXCLUDED}), True, id="one we cordoned"),
        pytest.param(view(of_node={"unschedulable": True}), False, id="one a user cordoned"),
        pytest.param(view(of_node={"labels": EXCLUDED}), False, id="one out of the load balancers only"),
        pytest.param(going(), False, id="one that goes"),
        pytest.param(view(of_node={**TAINTED, **DELETING}), False, id="one whose node is being deleted"),
        pytest.param(
            view(of_claim={"conditions": conditions(LAUNCHED)}, of_node=TAINTED), False, id="one that starts"
        ),
        pytest.param(NodeView(node=node_of(view(of_node=TAINTED))), False, id="one nobody claimed"),
        pytest.param(replace(view(), node=None), False, id="a claim without a node"),
    ],
)
def test_our_mark_on_a_node_that_nobody_says_goes_is_to_be_taken_off(
    there: NodeView, *, abandoned: bool
) -> None:
    assert marked(there) is abandoned


@pytest.mark.parametrize("generation", list(Generation))
def test_what_a_cordon_puts_on_is_taken_off_again(generation: Generation) -> None:
    there = view(of_claim={"generation": generation})
    step = next_step(there, (), leaving(), START)
    assert isinstance(step, Cordon)

    off = uncordon(claim_of(there), replace(node_of(there), labels=EXCLUDED))

    assert off.remove_taints == step.patch.add_taints
    assert off.remove_labels == tuple(step.patch.labels)
    assert (off.unschedulable is False) == (step.patch.unschedulable is True)


def test_a_cordon_that_is_not_ours_stays() -> None:
    there = view(of_claim=V1ALPHA5, of_node={"unschedulable": True})

    assert uncordon(claim_of(there), node_of(there)) == NodePatch()


@pytest.mark.parametrize(
    ("ids", "seconds", "gone"),
    [
        (("i-other",), 90, True),
        (("i-other", "i-c1"), 90, False),
        ((), 89, False),  # one this new may not be listed yet
    ],
)
def test_an_instance_is_gone_when_a_listing_would_have_it(
    ids: tuple[str, ...], seconds: float, *, gone: bool
) -> None:
    there = claim("c1", provider_id="aws:///a/i-c1")

    assert seen_gone(there, frozenset(ids), START + timedelta(seconds=seconds)) is gone


def test_a_machine_whose_node_has_joined_is_gone_as_soon_as_it_is_not_listed() -> None:
    joined = claim("c1", provider_id="aws:///a/i-c1", initialized=True)

    assert seen_gone(joined, frozenset(), START)
    assert not seen_gone(joined, frozenset({"i-c1"}), START)


@pytest.mark.parametrize(("seconds", "sure"), [(89, False), (90, True)])
def test_a_look_that_finds_nothing_is_final_after_a_while(seconds: float, *, sure: bool) -> None:
    assert surely_nothing(claim("c1", leaving=True), at(seconds)) is sure
    assert not surely_nothing(claim("c1"), at(seconds))


@pytest.mark.parametrize(
    ("granted", "said", "seconds"),
    [
        (None, "", None),
        (60, "", 60),
        (None, "2026-01-01T00:00:30Z", 30),
        (60, "2026-01-01T00:00:30Z", 30),
        (60, "2026-01-01T00:05:00Z", 60),
        (60, "soon", 60),
    ],
)
def test_a_claim_is_to_be_gone_by_the_earlier_of_what_it_is_granted_and_what_it_says(
    granted: float | None, said: str, seconds: float | None
) -> None:
    grace = None if granted is None else timedelta(seconds=granted)
    ends: dict[str, Any] = {
        "deleting_since": START,
        "termination_grace_period": grace,
        "annotations": {labels.TERMINATION_TIMESTAMP: said},
    }

    assert deadline_of(view(of_claim=ends)) == (None if seconds is None else at(seconds))
    assert deadline_of(view(of_claim={**ends, "deleting_since": None})) is None
