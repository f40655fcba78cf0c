"""Which daemons a node will run, so that their room is kept for them."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.nodes import NodeView
from treenail.domain.pods import PodSpec
from treenail.domain.requirements import Requirements
from treenail.domain.resources import Resources
from treenail.domain.taints import Effect, untolerated


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
