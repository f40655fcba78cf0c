"""Marked nodes: to be disrupted, with an instance that ends, or with a launch that failed."""

from __future__ import annotations

from treenail.domain.cluster.inventory import Inventory
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod


class MarkedNodes:
    """The marks that decisions put on node views, on top of what the API server says of them. Mutable.

    `for_disruption` are the views that were decided to go, `instance_ending` those of them whose instance
    ends at a known time, `launch_failed` the claims that never get an instance.
    """

    def __init__(self, objects: Inventory) -> None:
        self._objects = objects
        self.for_disruption: dict[str, None] = {}
        self.instance_ending: dict[str, None] = {}
        self.launch_failed: dict[str, None] = {}

    def forget(self, name: str) -> None:
        """Forget the marks of a view that is gone."""
        for marks in (self.for_disruption, self.instance_ending, self.launch_failed):
            marks.pop(name, None)

    def going(self, view: NodeView) -> bool:
        """Return whether a view is on its way out, decided to be, or cordoned."""
        return view.leaving or view.name in self.for_disruption

    def ending(self, view: NodeView) -> bool:
        """Return whether a view goes for good, or is decided to, so that its pods need other places."""
        return view.ending or view.name in self.for_disruption

    def loses_pods(self, view: NodeView) -> bool:
        """Return whether the instance of a view ends, so that even protected pods lose it."""
        return view.name in self.instance_ending or (view.ending and machine_ends_at(view.claim) is not None)

    def awaits_places(self, view: NodeView) -> bool:
        """Return whether a view goes once all its pods have places that are ready, or stays after all."""
        return view.name in self.for_disruption and not view.ending

    def leaves(self, pod: Pod) -> bool:
        """Return whether a pod has still to leave a node that goes."""
        view = self._left_by(pod)
        return view is not None and self.ending(view)

    def keeps_its_place(self, pod: Pod) -> bool:
        """Return whether a pod's promise holds until the pod leaves: others of its node may still wait."""
        view = self._left_by(pod)
        return view is not None and (self.loses_pods(view) or self.awaits_places(view))

    def _left_by(self, pod: Pod) -> NodeView | None:
        there = pod.bound and pod.active
        return self._objects.view(self._objects.view_name(pod.node_name)) if there else None
