"""The shape of a node: labels, taints and resources that its claim says it has."""

from __future__ import annotations

from typing import Final

from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import CONSISTENT, Condition, NodeView, Status, condition_of
from treenail.domain.model.resources import Resources

# As much as this may be missing: what a machine has less than its type says is told in other ways.
_LEAST_SHARE: Final = 0.9
_FAILED: Final = ("ConsistencyCheckFailed", "Consistency Check Failed")


def shape_problems(view: NodeView) -> tuple[str, ...]:
    """Return what a node in use has much less of than its claim says, one sentence each, by resource.

    Only what the claim asks for counts.
    """
    claim, node = view.claim, view.node
    if claim is None or node is None or not view.initialized:
        return ()
    asked = sorted(name for name, amount in claim.requests.items() if amount)
    return tuple(
        _sentence(name, expected, found)
        for name in asked
        if (found := node.capacity.get(name, 0)) < _LEAST_SHARE * (expected := claim.capacity.get(name, 0))
    )


def _sentence(name: str, expected: int, found: int) -> str:
    there, here = Resources({name: expected}).format()[name], Resources({name: found}).format()[name]
    return f"expected {there} of resource {name}, but found {here} ({found / expected:.1%} of expected)"


def shape_condition(view: NodeView) -> Condition | None:
    """Return what a claim is to say of that; None for claims of the old API, which say nothing."""
    if view.claim is None or view.claim.generation is Generation.V1ALPHA5:
        return None
    if shape_problems(view):
        return Condition(CONSISTENT, Status.FALSE, *_FAILED)
    return Condition(CONSISTENT, Status.TRUE, CONSISTENT)


def shape_news(view: NodeView) -> Condition | None:
    """Return what a claim is to say that it does not say; that all is well need not be said twice."""
    wanted = shape_condition(view)
    if wanted is None or view.claim is None:
        return None
    there = condition_of(view.claim.conditions, CONSISTENT)
    shown = there.status if there is not None else Status.TRUE
    return None if shown is wanted.status else wanted
