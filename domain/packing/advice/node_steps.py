"""Changes of nodes that are there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.taints import UNSCHEDULABLE
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.problem import Problem, Room
from treenail.domain.packing.remedies import Change, ChangeKind

_UNCORDON: Final = 1.5


def opened(room: Room) -> Room:
    """Return a cordoned room as it would be without that."""
    taints = tuple(taint for taint in room.taints if not taint.same_mark(UNSCHEDULABLE))
    return replace(room, open=True, cordoned=False, taints=taints)


def uncordon(room: Room) -> Step:
    """Return the step that opens a cordoned node again."""
    node = room.labels.get(labels.NODE_NAME, room.name)
    change = Change(
        kind=ChangeKind.UNCORDON,
        object=f"Node {node}",
        path="spec",
        before={"unschedulable": True},
        after={"unschedulable": False},
        condition=f"node {node} were not cordoned (kubectl uncordon {node})",
    )

    def apply(problem: Problem) -> Problem:
        rooms = tuple(opened(one) if one.name == room.name else one for one in problem.rooms)
        return replace(problem, rooms=rooms)

    return Step(change=change, size=_UNCORDON, apply=apply)
