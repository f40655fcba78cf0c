"""A scenario as a checker reads it: from manifests, with nothing of the packer's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from tests.fuzz.check.amounts import Amounts, add, amounts
from tests.fuzz.check.catalogue import HOSTNAME, POOL, Catalogue, read_catalogue
from tests.fuzz.check.homes import NewNode, Node, Way, meets
from tests.fuzz.check.pods import Pod, Shape
from tests.fuzz.check.pools import Pool
from tests.fuzz.check.taints import first_refused

Written: TypeAlias = Mapping[str, Any]

_OVER: Final = ("Succeeded", "Failed")


class Scenario:
    """Pods by name, pools, nodes, daemons and namespaces, from the items of a list of manifests.

    The catalogue may be as it is written, or read already.
    """

    def __init__(self, items: Sequence[Written], catalogue: Sequence[Written] | Catalogue) -> None:
        self.items = tuple(items)
        self.catalogue = catalogue if isinstance(catalogue, dict) else read_catalogue(catalogue)
        self._shapes: dict[str, Shape] = {}
        self.pools = {name: Pool.of(one) for name, one in self.of_kind("NodePool").items()}
        self.daemons = [
            self._shape(_namespace(one), one["spec"]["template"])
            for one in self.of_kind("DaemonSet").values()
        ]
        self.pods = {pod.name: pod for pod in self._read_pods()}
        self.pending = {name: pod for name, pod in self.pods.items() if not pod.node}
        self.nodes = {name: self._node(name, one) for name, one in self.of_kind("Node").items()}
        self.namespaces = {
            name: (one["metadata"].get("labels") or {}) for name, one in self.of_kind("Namespace").items()
        }

    def of_kind(self, kind: str) -> dict[str, Written]:
        """Return the objects of a kind that has no namespace, by name."""
        return {one["metadata"]["name"]: one for one in self.items if one["kind"] == kind}

    def _shape(self, namespace: str, written: Written) -> Shape:
        labels = (written.get("metadata") or {}).get("labels") or {}
        spec = {key: value for key, value in written["spec"].items() if key != "nodeName"}
        text = json.dumps([namespace, labels, spec], sort_keys=True)
        if text not in self._shapes:
            self._shapes[text] = Shape.of(namespace, labels, spec)
        return self._shapes[text]

    # --- pods

    def _read_pods(self) -> list[Pod]:
        found = []
        for one in self.items:
            if one["kind"] == "Pod" and (one.get("status") or {}).get("phase") not in _OVER:
                found.append(self._pod(one))
            elif one["kind"] in ("Deployment", "ReplicaSet", "StatefulSet"):
                found += self._replicas(one)
        return found

    def _pod(self, written: Written) -> Pod:
        metadata, namespace = written["metadata"], _namespace(written)
        return Pod(
            name=f"{namespace}/{metadata['name']}",
            shape=self._shape(namespace, written),
            node=written["spec"].get("nodeName") or "",
            leaving=bool(metadata.get("deletionTimestamp")),
            daemon=any(o["kind"] == "DaemonSet" for o in metadata.get("ownerReferences") or ()),
        )

    def _replicas(self, written: Written) -> list[Pod]:
        namespace, name = _namespace(written), written["metadata"]["name"]
        shape = self._shape(namespace, written["spec"]["template"])
        replicas = written["spec"].get("replicas", 1)
        return [Pod(f"{namespace}/{name}-{n}", shape) for n in range(replicas)]

    # --- nodes

    def _node(self, name: str, written: Written) -> Node:
        labels = {HOSTNAME: name, **(written["metadata"].get("labels") or {})}
        taints = (written.get("spec") or {}).get("taints") or ()
        free = amounts(written["status"]["allocatable"])
        coming: Amounts = {}
        for pod in self.pods.values():
            if pod.node == name:
                add(free, pod.shape.requests, -1)
                if pod.daemon:
                    add(coming, pod.shape.requests, -1)
        node = Node(name, taints, labels, free)
        for daemon in self.daemons:
            tolerated = first_refused(daemon.tolerations, taints, preferred=True) is None
            if tolerated and node.meets(daemon.terms):
                add(coming, daemon.requests)
        add(free, {resource: value for resource, value in coming.items() if value > 0}, -1)
        return node

    def used(self, pool: str) -> Amounts:
        """Return the capacity of the nodes of a pool that are there, with how many there are."""
        total: Amounts = {}
        for node in self.of_kind("Node").values():
            if (node["metadata"].get("labels") or {}).get(POOL) == pool:
                status = node["status"]
                add(total, amounts(status.get("capacity") or status["allocatable"]))
                add(total, amounts({"nodes": 1}))
        return total

    def daemons_on(self, home: NewNode, way: Way) -> list[Shape]:
        """Return the daemons that will run on a new node if it turns out this way."""
        return [
            daemon
            for daemon in self.daemons
            if first_refused(daemon.tolerations, home.taints) is None
            and meets(daemon.terms, way.labels, home.unsettled)
        ]


def _namespace(written: Written) -> str:
    return written["metadata"].get("namespace") or "default"
