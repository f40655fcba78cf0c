"""What is free on a node: less its pods, less what is promised, less the daemons still to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treenail.domain.nodes import NodeView
from treenail.domain.packing.problem import Room
from treenail.domain.pods import Pod, PodSpec
from treenail.domain.requirements import Requirements
from treenail.domain.resources import Resources, total
from treenail.domain.taints import Effect, untolerated


def room_on(view: NodeView, pods: Sequence[Pod], daemons: Iterable[PodSpec], promised: Resources) -> Room:
    """Return what is free on the node of a view that `pods` hold room on."""
    bound = total(p.spec.requests for p in pods)
    expected = total(expected_daemons(view, daemons))
    to_come = expected.minus(total(p.spec.requests for p in pods if p.daemon)).at_least_zero()
    return Room(
        name=view.name,
        labels=view.labels,
        taints=view.taints,
        free=view.allocatable.minus(bound).minus(to_come).minus(promised),
        initialized=view.initialized,
        pool=view.pool,
    )


def expected_daemons(view: NodeView, daemons: Iterable[PodSpec]) -> tuple[Resources, ...]:
    """Return the requests of the daemons that will run on a node: labels suit them, taints they bear."""
    taints = tuple(t for t in view.taints if t.effect is not Effect.PREFER_NO_SCHEDULE)
    described = Requirements.from_labels(view.labels)
    return tuple(
        spec.requests
        for spec in daemons
        if untolerated(taints, spec.tolerations) is None
        and any(described.compatible(wanted) for wanted in spec.alternatives())
    )
