"""Several nodes, or claims, that say they are one machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, at, claim, claim_of, conditions, node, node_of, view
from tests.domain.models import lose, model, see
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.lifecycle.lifecycle import GiveBack, PatchClaim, SyncNode, WaitUntil, next_step
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import LAUNCHED, Condition, Node, NodeClaim, NodeView, Status
from treenail.domain.model.pods import Owner
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.drain import LetGo
from treenail.domain.termination.drain_table import next_step as next_drain_step
from treenail.domain.termination.leaving import Leaving

MACHINE = "aws:///a/i-1"
MINUTE = 60


def launched(**fields: Any) -> NodeClaim:
    return replace(claim("c1", provider_id=MACHINE), conditions=conditions(LAUNCHED), **fields)


def called(name: str, *, seconds: float = 0) -> Node:
    return replace(node(name, provider_id=MACHINE), created_at=at(seconds))


def made_early(name: str) -> Node:
    return replace(called(name), annotations={labels.MADE_EARLY: "c1"}, conditions=())


def seen(*things: NodeClaim | Node) -> NodeView:
    found = model(*things).objects.view("c1")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("there", "meant", "rivals"),
    [
        pytest.param((called("n1"),), "n1", (), id="one"),
        pytest.param((called("n2", seconds=9), called("n1", seconds=1)), "n1", ("n2",), id="the first"),
        pytest.param((called("n2"), called("n1")), "n1", ("n2",), id="the first by name"),
        pytest.param((called("n1"), called("n2"), called("n3")), "n1", ("n2", "n3"), id="three"),
        pytest.param((made_early("n1"), called("n2", seconds=9)), "n2", (), id="no early one"),
    ],
)
def test_one_of_the_nodes_of_a_machine_is_its_claims(
    there: tuple[Node, ...], meant: str, rivals: tuple[str, ...]
) -> None:
    found = seen(launched(), *there)

    assert (found.node_name, found.rivals) == (meant, rivals)


def test_a_claim_keeps_the_node_that_it_was_registered_with() -> None:
    registered = replace(launched(), node_name="n2")

    found = seen(called("n1"), registered, called("n2", seconds=9))

    assert (found.node_name, found.rivals) == ("n2", ("n1",))


def test_when_a_node_goes_the_other_one_stays() -> None:
    known = model(launched(), called("n1"), called("n2"))

    lose(known, Kind.NODE, "n1")

    assert known.objects.view("c1") == NodeView(claim=launched(), node=called("n2"))
    assert list(known.take_changes().views) == ["c1"]
    assert known.objects.claim_of_instance("i-1") == "c1"


def test_nodes_of_one_machine_that_nobody_claimed_become_the_claims_and_are_left_by_it() -> None:
    known = model(called("n1"), called("n2"))
    assert [v.name for v in known.objects.views()] == ["n1", "n2"]
    assert known.objects.claim_of_instance("i-1") is None

    see(known, launched())
    assert list(known.take_changes().views) == ["n1", "n2", "c1"]
    assert [v.name for v in known.objects.views()] == ["c1"]

    lose(known, Kind.NODE_CLAIM, "c1")
    assert list(known.take_changes().views) == ["c1", "n1", "n2"]
    assert [v.name for v in known.objects.views()] == ["n1", "n2"]


# --- what becomes of their claim

TWO = NodeView(claim=launched(), node=called("n1"), rivals=("n2",))


def test_a_claim_of_several_nodes_says_so_and_registers_none() -> None:
    step = next_step(TWO, START)

    assert isinstance(step, PatchClaim)
    assert not step.patch.node_name
    assert step.patch.conditions == (
        Condition(
            "Registered", Status.FALSE, "MultipleNodesFound", "Invariant violated, matched multiple nodes"
        ),
        Condition("Initialized", Status.UNKNOWN, "NodeNotFound", "Node not registered with cluster"),
        Condition("Ready", Status.FALSE, "UnhealthyDependents", "Registered=False, Initialized=Unknown"),
    )


def told() -> NodeView:
    """Return what is there when that is said."""
    step = next_step(TWO, START)
    assert isinstance(step, PatchClaim)
    said = (*conditions(LAUNCHED), *step.patch.conditions)
    return replace(TWO, claim=replace(claim_of(TWO), conditions=said))


def test_it_says_so_once_and_is_given_back_when_its_time_to_register_is_over() -> None:
    waiting = told()

    assert next_step(waiting, START) == WaitUntil(at=at(15 * MINUTE))
    assert next_step(waiting, at(15 * MINUTE)) == GiveBack(
        claim=claim_of(waiting), cause=Cause.REGISTRATION_TIMEOUT
    )


def test_when_one_alone_is_left_it_is_registered() -> None:
    step = next_step(replace(told(), rivals=()), START)

    assert isinstance(step, SyncNode)
    assert step.node.name == "n1"


def test_a_node_in_use_stays_so_whoever_comes() -> None:
    in_use = view()

    assert next_step(replace(in_use, rivals=("n2",)), at(10_000)) is None
    assert node_of(in_use).name == "node-c1"


# --- several claims to one machine


def another(name: str, **fields: Any) -> NodeClaim:
    return replace(launched(), name=name, uid=name, **fields)


@pytest.mark.parametrize(
    ("claims", "owner", "holder"),
    [
        pytest.param((another("c2"), another("c1")), "", "c1", id="the first by name"),
        pytest.param((another("c1", created_at=at(9)), another("c2")), "", "c2", id="the first made"),
        pytest.param((another("c2"), another("c1")), "c2", "c2", id="the one that the node is of"),
        pytest.param((another("c1", deleting_since=at(1)), another("c2")), "c1", "c2", id="one that stays"),
        pytest.param(
            (another("c1", deleting_since=at(1)), another("c2", deleting_since=at(1))),
            "c2",
            "c2",
            id="of those that go the one that the node is of",
        ),
    ],
)
def test_one_of_the_claims_to_a_machine_has_it(
    claims: tuple[NodeClaim, ...], owner: str, holder: str
) -> None:
    owners = (Owner(kind="NodeClaim", name=owner, uid=owner),) if owner else ()
    there = replace(called("n1"), owners=owners)
    for order in (claims, claims[::-1]):
        known = model(there, *order)
        (other,) = {"c1", "c2"} - {holder}

        has, has_not = known.objects.view(holder), known.objects.view(other)
        assert has is not None
        assert has_not is not None
        assert (has.node, has.claimants, has.holder) == (there, (other,), "")
        assert (has_not.node, has_not.claimants, has_not.holder) == (None, (holder,), holder)
        assert known.objects.view_name("n1") == known.objects.claim_of_instance("i-1") == holder
        assert not has_not.launched


@pytest.mark.parametrize("goes", ["c1", "c2"])
def test_when_a_claim_goes_the_other_one_is_looked_at_anew(goes: str) -> None:
    (stays,) = {"c1", "c2"} - {goes}
    known = model(called("n1"), another("c1"), another("c2"))

    lose(known, Kind.NODE_CLAIM, goes)

    assert set(known.take_changes().views) == {"c1", "c2"}
    assert known.objects.view(stays) == NodeView(claim=another(stays), node=called("n1"))
    assert known.objects.claim_of_instance("i-1") == stays


@pytest.mark.parametrize("others", [(), (another("c2"),)])
def test_a_claim_that_says_no_more_that_it_has_a_machine_leaves_it(others: tuple[NodeClaim, ...]) -> None:
    known = model(called("n1"), another("c1"), *others)
    as_before = replace(another("c1"), resource_version=9, provider_id="")

    see(known, as_before)

    holder = others[0].name if others else "n1"
    assert {"c1", holder} <= set(known.take_changes().views)
    assert known.objects.view("c1") == NodeView(claim=as_before)
    assert known.objects.view_name("n1") == holder
    assert known.objects.claim_of_instance("i-1") == (holder if others else None)

    lose(known, Kind.NODE_CLAIM, "c1")
    assert known.objects.view_name("n1") == holder


def test_a_node_is_not_let_go_with_the_claim_that_it_is_still_of() -> None:
    of_one = replace(called("n1"), owners=(Owner(kind="NodeClaim", name="c1", uid="c1"),))
    going = another("c1", deleting_since=at(1))
    known = model(of_one, going, another("c2"))
    leaving = Leaving(cause=Cause.DELETED, began_at=at(1), forced=False, trace=SpanContext.root("t"))

    left = known.objects.view("c1")
    assert left is not None
    assert left.kept_node == "n1"
    assert next_drain_step(left, (), leaving, at(2)) == at(7)

    of_both = replace(of_one, resource_version=9, owners=(*of_one.owners, Owner("NodeClaim", "c2", "c2")))
    see(known, of_both)

    assert "c1" in known.take_changes().views
    left = known.objects.view("c1")
    assert left is not None
    assert next_drain_step(left, (), leaving, at(2)) == LetGo(node=None, claim=going)
