"""What a cluster state tells of nodes, without one."""

from __future__ import annotations

from typing import Any

from tests.actors.troubles import Api
from treenail.adapters.fake.cluster import Change
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Ref
from treenail.domain.model.storage import PersistentVolumeClaim


class Views:
    """Tells `to` of every view of an API server's nodes as it changes. `marked` views are to be disrupted."""

    def __init__(self, api: Api, to: Ref[Any]) -> None:
        self.to = to
        self.marked: dict[str, None] = {}
        # By view, the pods whose new places were decided: whether these are ready.
        self.places: dict[str, dict[str, bool]] = {}
        self._api = api
        api.on_change(self._changed)

    def tell_all(self) -> None:
        """Tell of everything there is, as after a restart."""
        for claim in self._api.claims():
            self._tell(claim.name)
        for node in self._api.nodes():
            self._tell_node(node)

    def mark_for_disruption(self, name: str) -> NodeView:
        """Let a view go from now on; return it."""
        self.marked[name] = None
        self._tell(name)
        there = self.view(name)
        assert there is not None
        return there

    def unmark(self, name: str) -> None:
        """Let a view stay after all."""
        del self.marked[name]
        self._tell(name)

    def view(self, name: str) -> NodeView | None:
        """Return the claim of this name with its node, or the node of this name that nobody claimed."""
        nodes = self._api.nodes()
        claim = next((c for c in self._api.claims() if c.name == name), None)
        if claim is not None:
            node = next((n for n in nodes if n.provider_id and n.provider_id == claim.provider_id), None)
            return NodeView(claim=claim, node=node)
        alone = next((n for n in nodes if n.name == name and self._claim_of(n) is None), None)
        return NodeView(node=alone) if alone is not None else None

    def _claim_of(self, node: Node) -> NodeClaim | None:
        claims = self._api.claims()
        return next((c for c in claims if c.provider_id and c.provider_id == node.provider_id), None)

    def _changed(self, change: Change) -> None:
        thing = change.after or change.before
        if isinstance(thing, NodeClaim):
            self._tell(thing.name)
        elif isinstance(thing, Node):
            self._tell_node(thing)
        elif isinstance(thing, Pod) and thing.node_name:
            for node in self._api.nodes():
                if node.name == thing.node_name:
                    self._tell_node(node)

    def _tell_node(self, node: Node) -> None:
        claim = self._claim_of(node)
        self._tell(node.name if claim is None else claim.name)

    def _tell(self, name: str) -> None:
        there = self.view(name)
        going = there is not None and (there.leaving or name in self.marked)
        on_it = there.node_name if there is not None and going else ""
        pods = tuple(p for p in self._api.pods() if on_it and p.node_name == on_it and not p.terminal)
        claims = {c.key: c for c in self._api.objects(PersistentVolumeClaim)}
        volumes = {p.uid: tuple(claims[key].volume_name for key in p.claim_keys) for p in pods}
        known = self.places.get(name, {})
        places = {pod.uid: known[pod.uid] for pod in pods if pod.uid in known}
        self.to.tell(
            NodeChanged(name=name, view=there, going=going, pods=pods, volumes=volumes, places=places)
        )
