"""Changes of nodes that are there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.taints import UNSCHEDULABLE
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.problem import ExistingNode, Problem
from treenail.domain.packing.remedies import ChangeKind, ManifestChange

# Smaller than any change of a pod or a pool: nothing is given up, and somebody cordoned the node for a time.
_UNCORDON: Final = 1.5


def opened(existing_node: ExistingNode) -> ExistingNode:
    """Return a cordoned node as it would be if it were not cordoned."""
    # The taint is the controller's shadow of the field: it goes with it. Other taints stay.
    taints = tuple(taint for taint in existing_node.taints if not taint.same_mark(UNSCHEDULABLE))
    return replace(existing_node, open=True, cordoned=False, taints=taints)


def uncordon(existing_node: ExistingNode) -> Step:
    """Return the step that opens a cordoned node again."""
    # By the name that kubectl knows: a claim that has a node is called by its node's.
    node = existing_node.labels.get(labels.NODE_NAME, existing_node.name)
    change = ManifestChange(
        kind=ChangeKind.UNCORDON,
        object=f"Node {node}",
        path="spec",
        before={"unschedulable": True},
        after={"unschedulable": False},
        condition=f"node {node} were not cordoned (kubectl uncordon {node})",
    )

    def apply(problem: Problem) -> Problem:
        existing_nodes = tuple(
            opened(one) if one.name == existing_node.name else one for one in problem.existing_nodes
        )
        return replace(problem, existing_nodes=existing_nodes)

    return Step(change=change, size=_UNCORDON, apply=apply)
