"""Agents that startup taints wait for: some seconds after a node is ready they take these taints off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.cluster.objects import Change
from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.runtime import Agenda
from treenail.domain.model.taints import Taint

TAINT_REMOVED: Final = "TaintRemoved"


class StartupAgents:
    """Takes the startup taints of its claim off a node, `after` seconds from when it is registered and ready.

    `told` is called with the node's name and the key of each taint.
    """

    def __init__(
        self, cluster: FakeCluster, agenda: Agenda, after: float, told: Callable[[str, str], None]
    ) -> None:
        self._cluster, self._agenda, self._after, self._told = cluster, agenda, after, told
        self._seen: set[str] = set()
        cluster.on_change(self._note)

    def _note(self, change: Change) -> None:
        node = change.after
        if not isinstance(node, Node) or node.uid in self._seen:
            return
        # Until the node is registered the controller may still add startup taints; after that it does not.
        if not node.ready or node.labels.get(labels.REGISTERED) != "true":
            return
        self._seen.add(node.uid)
        if self._taints(node):
            self._agenda.call_at(self._agenda.monotonic() + self._after, partial(self._take, node.name))

    def _taints(self, node: Node) -> tuple[Taint, ...]:
        claim = next((c for c in self._cluster.claims() if c.provider_id == node.provider_id), None)
        if claim is None:
            return ()
        return tuple(dict.fromkeys(taint for taint in claim.startup_taints if taint in node.taints))

    def _take(self, name: str) -> None:
        node = next((one for one in self._cluster.nodes() if one.name == name), None)
        for taint in self._taints(node) if node is not None else ():
            self._told(name, taint.key)
            self._cluster.take_taint(name, taint.key, taint.effect)
