from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import at, claim_of, view
from treenail.domain.lifecycle.tagging import TAGGED, missing_tags, untagged
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeClaim, NodeView

JOINED = view("c1")
CLAIM = claim_of(JOINED)
POOL = {labels.NODEPOOL: "default"}


def with_claim(**changes: object) -> NodeView:
    return replace(JOINED, claim=replace(CLAIM, **changes))  # type: ignore[arg-type]


def test_the_instance_of_a_node_that_has_joined_is_to_be_tagged() -> None:
    assert untagged(JOINED) == CLAIM


@pytest.mark.parametrize(
    "there",
    [
        None,
        NodeView(node=JOINED.node),
        with_claim(conditions=()),
        with_claim(node_name=""),
        with_claim(deleting_since=at(5)),
        with_claim(annotations={TAGGED: "true"}),
        with_claim(provider_id="kwok:///a/node-1"),
    ],
    ids=["gone", "no claim", "not joined", "no name", "leaving", "tagged", "not of AWS"],
)
def test_nothing_is_to_be_done_for_others(there: NodeView | None) -> None:
    assert untagged(there) is None


def named(claim: NodeClaim) -> dict[str, str]:
    return {"Name": claim.node_name, labels.NODECLAIM: claim.name}


@pytest.mark.parametrize("tags", [{}, POOL, {**POOL, "Name": "karpenter.sh/nodepool/default"}])
def test_an_instance_is_named_after_its_node_and_says_its_claim(tags: dict[str, str]) -> None:
    assert missing_tags(CLAIM, tags) == named(CLAIM)


def test_a_name_that_a_node_class_gave_stays() -> None:
    assert missing_tags(CLAIM, {**POOL, "Name": "ours"}) == {labels.NODECLAIM: CLAIM.name}


def test_an_instance_that_bears_all_lacks_nothing() -> None:
    assert missing_tags(CLAIM, {**POOL, **named(CLAIM)}) == {}
