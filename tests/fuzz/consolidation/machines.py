"""Machines: nodes of clusters to consolidate, with their claims, and what runs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.amounts import Amounts, add, short_of
from tests.fuzz.check.catalogue import HOSTNAME, POOL, Catalogue, read_catalogue
from tests.fuzz.check.homes import Home, Way
from tests.fuzz.check.pods import Shape
from tests.fuzz.check.ports import clash
from tests.fuzz.check.taints import first_refused
from tests.fuzz.manifests import CPU, NODE_CLASS, Manifest, node

KEEP: Final = "karpenter.sh/do-not-disrupt"
INITIALIZED: Final = "karpenter.sh/initialized"
_REPLACES: Final = "treenail.sh/replaces"
_REGISTERED: Final = "karpenter.sh/registered"
_CLASS_LABEL: Final = "karpenter.kwok.sh/kwoknodeclass"
_SINCE: Final = "2026-01-01T00:00:00Z"
_LONG_AGO: Final = "2025-12-01T00:00:00Z"


@cache
def types() -> Catalogue:
    """Return the instance types that clusters are made of."""
    return read_catalogue(catalogue())


@dataclass
class Machine:
    """A node of a pool. One that nobody manages has the labels of its type, and no claim.

    `keep` is do-not-disrupt, `volumes` how many can be attached, None where that is not limited. `running`
    are what is there, daemons too.
    """

    name: str
    pool: str
    way: Way
    taints: tuple[Manifest, ...] = ()
    keep: bool = False
    initialized: bool = True
    consolidatable: bool = True
    managed: bool = True
    volumes: int | None = None
    # The nodes that its pods left for it, where it was bought for these: its claim says so, as ours do.
    replaces: tuple[str, ...] = ()
    running: list[Shape] = field(default_factory=list)
    _used: Amounts = field(default_factory=dict)

    @classmethod
    def of_way(
        cls, name: str, pool: Mapping[str, Any], way: Way, *, replaces: tuple[str, ...] = ()
    ) -> Machine:
        """Return a new node of a pool that turned out this way."""
        taints = tuple(pool["spec"]["template"]["spec"].get("taints") or ())
        return cls(name, pool["metadata"]["name"], way, taints, replaces=replaces)

    @property
    def cpus(self) -> int:
        return int(self.way.labels[CPU])

    @property
    def labels(self) -> dict[str, str]:
        known = {**self.way.labels, HOSTNAME: self.name}
        if not self.managed:
            return {key: value for key, value in known.items() if key != POOL}
        known |= {_REGISTERED: "true", _CLASS_LABEL: "default"}
        return known | {INITIALIZED: "true"} if self.initialized else known

    def holds(self, shape: Shape) -> bool:
        """Return whether a pod may run here, for all that other nodes have to do with it."""
        needed: Amounts = dict(self._used)
        add(needed, shape.requests)
        return (
            not short_of(needed, self.way.type.allocatable)
            and first_refused(shape.tolerations, self.taints) is None
            and Home(self.name, self.taints, [self.labels]).meets(shape.terms)
            and not clash(shape, self.running)
        )

    def run(self, shape: Shape) -> None:
        """Start a pod here."""
        self.running.append(shape)
        add(self._used, shape.requests)

    def filled(self) -> float:
        """Return what part of the CPU or of the memory is asked for, the larger."""
        there = self.way.type.allocatable
        return max(self._used.get(name, 0) / there[name] for name in ("cpu", "memory"))

    def run_daemons(self, sets: Sequence[Manifest]) -> list[Manifest]:
        """Start what DaemonSets want here; return the pods."""
        found = []
        for one in sets:
            template = one["spec"]["template"]
            shape = Shape.of("kube-system", template["metadata"]["labels"], template["spec"])
            if self.holds(shape):
                self.run(shape)
                found.append(_daemon_pod(one, self.name))
        return found

    # --- manifests

    def manifests(self) -> list[Manifest]:
        capacity, free = written(self.way.type.capacity), written(self.way.type.allocatable)
        made = node(self.name, self.labels, free, self.taints)
        made["metadata"]["creationTimestamp"] = _LONG_AGO
        made["spec"] = {**made.get("spec", {}), "providerID": self._provider_id}
        made["status"] |= {"capacity": capacity, "conditions": [_condition("Ready")]}
        if self.keep:
            made["metadata"]["annotations"] = {KEEP: "true"}
        items = [made]
        if self.managed:
            items.append(self._claim(capacity, free))
        if self.volumes is not None:
            items.append(self._csi_node(self.volumes))
        return items

    @property
    def _provider_id(self) -> str:
        return f"kwok://{self.name}"

    def _claim(self, capacity: Mapping[str, str], allocatable: Mapping[str, str]) -> Manifest:
        true = ["Launched", "Registered"]
        true += ["Initialized"] if self.initialized else []
        true += ["Consolidatable"] if self.consolidatable and self.initialized else []
        metadata: Manifest = {"name": self.name, "labels": self.labels, "creationTimestamp": _LONG_AGO}
        if self.replaces:
            metadata["annotations"] = {_REPLACES: ",".join(self.replaces)}
        return {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": metadata,
            "spec": {
                "nodeClassRef": NODE_CLASS,
                "requirements": [],
                "taints": list(self.taints),
                "expireAfter": "Never",
            },
            "status": {
                "providerID": self._provider_id,
                "nodeName": self.name,
                "capacity": dict(capacity),
                "allocatable": dict(allocatable),
                "conditions": [_condition(one) for one in true],
            },
        }

    def _csi_node(self, count: int) -> Manifest:
        driver = {"name": "ebs.csi.aws.com", "nodeID": self.name, "topologyKeys": []}
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": self.name},
            "spec": {"drivers": [{**driver, "allocatable": {"count": count}}]},
        }


def _condition(kind: str) -> Manifest:
    return {
        "type": kind,
        "status": "True",
        "reason": kind,
        "message": "",
        "lastTransitionTime": _SINCE,
    }


def _daemon_pod(of: Manifest, on: str) -> Manifest:
    name = of["metadata"]["name"]
    template = of["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": name, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{on}",
            "namespace": "kube-system",
            "uid": f"kube-system/{name}-{on}",
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "nodeName": on},
        "status": {"phase": "Running", "conditions": [_condition("Ready")]},
    }


def written(amounts: Amounts) -> dict[str, str]:
    """Return amounts as quantities, to the thousandth."""
    return {
        name: str(value // 10**9) if value % 10**9 == 0 else f"{value // 10**6}m"
        for name, value in amounts.items()
    }
