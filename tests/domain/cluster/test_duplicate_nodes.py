from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.builders import START, bound_pod, claim, node, pending_pod
from treenail.domain.cluster.duplicate_nodes import is_duplicate
from treenail.domain.model.claims import DECISION, PROMISED
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod


def bought(name: str, decision: str, *pods: str) -> NodeClaim:
    said = {DECISION: decision, PROMISED: ",".join(pods)}
    return claim(name, provider_id=f"aws:///z/i-{name}", initialized=True, annotations=said)


FIRST, SECOND = bought("a", "d1", "p", "q"), bought("b", "d2", "p", "q")
NODES = {name: node(name, provider_id=f"aws:///z/i-{name}") for name in ("a", "b", "c")}
ON_B = (bound_pod("p", "b"), bound_pod("q", "b"))


def duplicate(
    one: NodeClaim, pods: Sequence[Pod] = ON_B, others: Sequence[NodeClaim] = (FIRST, SECOND)
) -> bool:
    nodes: dict[str, Node] = NODES
    return is_duplicate(one, {p.uid: p for p in pods}, nodes, others)


def test_of_two_claims_for_the_same_pods_the_one_without_them_is_a_duplicate() -> None:
    assert duplicate(FIRST)
    assert not duplicate(SECOND)


def test_a_claim_whose_pods_were_bought_for_once_is_none() -> None:
    assert not duplicate(FIRST, others=(FIRST,))
    assert not duplicate(FIRST, others=(FIRST, bought("b", "d2", "r")))
    assert not duplicate(FIRST, others=(FIRST, bought("b", "d1", "p")))
    assert not duplicate(FIRST, others=(FIRST, replace(SECOND, deleting_since=START)))


def test_as_long_as_a_pod_may_still_come_it_is_none() -> None:
    assert not duplicate(FIRST, pods=(ON_B[0], pending_pod("q")))
    assert not duplicate(FIRST, pods=(ON_B[0], bound_pod("q", "a")))
    assert not duplicate(FIRST, pods=(ON_B[0], bound_pod("q", "not known")))


def test_a_claim_that_ever_had_a_pod_is_none() -> None:
    assert not duplicate(replace(FIRST, last_pod_event_at=START))


def test_pods_that_are_gone_tell_nothing_of_a_machine() -> None:
    assert duplicate(FIRST, pods=())
    assert not duplicate(replace(FIRST, generation=Generation.V1ALPHA5), pods=())
    assert duplicate(replace(FIRST, generation=Generation.V1ALPHA5), pods=ON_B[:1])


def test_what_was_made_for_no_pods_is_none() -> None:
    assert not duplicate(claim("a", annotations={DECISION: "d1"}))
