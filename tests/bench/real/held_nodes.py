"""Nodes of one pod with a volume each, and drains of theirs that do not come to an end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import says

NODES: Final = "/api/v1/nodes"
CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
PODS: Final = "/api/v1/namespaces/default/pods"
BUDGETS: Final = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ATTACHED: Final = "/apis/storage.k8s.io/v1/volumeattachments"
VOLUMES: Final = "/api/v1/persistentvolumes"
CLAIMED: Final = "/api/v1/namespaces/default/persistentvolumeclaims"
DRIVER: Final = "disk.test.treenail.sh"
LOOK_EVERY: Final = 0.2


class HeldNodes:
    """Nodes that a controller buys for pods which cannot be together, by the names of these pods."""

    def __init__(self, parts: ControlPlane, *, selector: dict[str, str] | None = None) -> None:
        """`selector` is the node selector of the pods."""
        self._parts = parts
        self._selector = selector or {}
        self.names: list[str] = []

    def make(self, count: int) -> None:
        """Have so many more nodes."""
        first = len(self.names)
        names = [f"held-{n:03}" for n in range(first, first + count)]
        for name in names:
            for path, thing in self._pod(name):
                self._create(path, thing)
        self.names += names
        self._until(lambda: len(self._running()) >= len(self.names), "not all pods run")
        self._until(
            lambda: sum(says(c, "Initialized") for c in self._items(CLAIMS)) >= len(self.names),
            "not all nodes are initialized",
        )

    def drain(self, names: Sequence[str], *, attached: bool) -> None:
        """Have the nodes of pods go: their volumes stay attached, or else budgets hold the pods."""
        there = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in self._running()}
        for name in names:
            if attached:
                source = {"persistentVolumeName": f"pv-{name}"}
                spec = {"attacher": DRIVER, "nodeName": there[name], "source": source}
                self._create(ATTACHED, _object("storage.k8s.io/v1", "VolumeAttachment", name, spec=spec))
            else:
                chosen = {"maxUnavailable": 0, "selector": {"matchLabels": {"name": name}}}
                self._create(BUDGETS, _object("policy/v1", "PodDisruptionBudget", name, spec=chosen))
        claims = {
            claim.get("status", {}).get("nodeName"): claim["metadata"]["name"]
            for claim in self._items(CLAIMS)
        }
        for name in names:
            status, answer = self._parts.request("DELETE", f"{CLAIMS}/{claims[there[name]]}")
            if status not in (200, 202):
                raise ValueError(f"DELETE of a claim was answered {status}: {answer}")
        if attached:
            self._until(
                lambda: not {p["metadata"]["name"] for p in self._running()} & set(names), "pods stay"
            )

    def left(self) -> int:
        """Return how many claims there are."""
        return len(self._items(CLAIMS))

    def clear(self) -> None:
        """Take away what holds the nodes, and the pods."""
        for path in (BUDGETS, ATTACHED, PODS, CLAIMED, VOLUMES):
            self._parts.request("DELETE", path)

    def _pod(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        modes, size = ["ReadWriteOnce"], {"storage": "1Gi"}
        volume = {
            "capacity": size,
            "accessModes": modes,
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": {"namespace": "default", "name": name},
        }
        wanted = {
            "accessModes": modes,
            "storageClassName": "",
            "volumeName": f"pv-{name}",
            "resources": {"requests": size},
        }
        apart = {"labelSelector": {"matchLabels": {"held": "yes"}}, "topologyKey": "kubernetes.io/hostname"}
        spec = {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": self._selector,
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}],
        }
        pod = _object("v1", "Pod", name, spec=spec)
        pod["metadata"]["labels"] = {"held": "yes", "name": name}
        return [
            (VOLUMES, _object("v1", "PersistentVolume", f"pv-{name}", spec=volume)),
            (CLAIMED, _object("v1", "PersistentVolumeClaim", name, spec=wanted)),
            (PODS, pod),
        ]

    def _running(self) -> list[dict[str, Any]]:
        return [pod for pod in self._items(PODS) if says(pod, "Ready")]

    def _items(self, path: str) -> list[dict[str, Any]]:
        status, answer = self._parts.request("GET", path)
        return list(answer["items"]) if status == 200 else []

    def _create(self, path: str, thing: dict[str, Any]) -> None:
        status, answer = self._parts.request("POST", path, thing)
        if status != 201:
            raise ValueError(f"POST {path} was answered {status}: {answer}")

    def _until(self, true: Any, problem: str) -> None:
        deadline = time.monotonic() + 240
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError(problem)
            time.sleep(LOOK_EVERY)


def _object(api_version: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}
