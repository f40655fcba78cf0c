"""A real API server, with our reader and writer, as the subject of the contract of clusters."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from tests.contracts.cluster.subject import OF_EVERY_CLUSTER
from tests.real.kubernetes.manifests import manifest_of
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.api.documents import read_manifests
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.metadata import ConditionModel
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.lease import LEASE, KubernetesLease
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import (
    NAMESPACE,
    NODE,
    POD,
    RESOURCES,
    WATCHED,
    WORKLOADS,
    Resource,
)
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.cluster.cluster_facts import ClusterFact, Kind, ObjectGone, ObjectSeen, Resynced, key_of
from treenail.domain.cluster.cluster_facts import kind_of as kind_of_object
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.nodes import Condition, Node
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import ClusterReader, ClusterWriter, LeaseStore

T = TypeVar("T", Pod, Node)

CRDS: Final = Path(__file__).parents[3] / "deploy" / "crds"
EVENT: Final = RESOURCES["Event"]
CRD: Final = Resource("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions")
PATIENCE: Final = 20.0
# What a test may leave behind, in the order in which it goes.
LEFT: Final = (POD, EVENT, LEASE, *(r for r in reversed(WATCHED) if r != POD))


def install_crds(server: ControlPlane) -> None:
    """Install our CRDs, and wait until they are served."""
    for manifest in read_manifests(sorted(CRDS.glob("*.yaml"))):
        _ok(server.request("POST", CRD.path(), manifest.content))
    until = time.monotonic() + PATIENCE
    for resource in WATCHED:
        while server.request("GET", resource.path())[0] != 200:
            assert time.monotonic() < until, f"{resource} is not served"
            time.sleep(0.02)


def remove_crds(server: ControlPlane) -> None:
    """Remove our CRDs, and wait until they are gone."""
    for manifest in read_manifests(sorted(CRDS.glob("*.yaml"))):
        remove_crd(server, manifest.name)


def remove_crd(server: ControlPlane, name: str) -> None:
    """Remove a CRD, and wait until it is gone."""
    path, begun = CRD.path(name), time.monotonic()
    server.request("DELETE", path)
    looks = 0
    while server.request("GET", path)[0] != 404:
        waited = time.monotonic() - begun
        assert waited < PATIENCE, f"{name} does not go"
        if waited > looks + 1:
            looks += 1
            # What removes it tries again ever more seldom where it could not, and at once when it changes.
            server.request("PATCH", path, {"metadata": {"annotations": {"looked": str(looks)}}}, MERGE)
        time.sleep(0.02)


class RealSubject:
    """Our reader and writer on `server`, on which nothing runs. `close` leaves it as empty as it was."""

    def __init__(self, server: ControlPlane) -> None:
        self._server = server
        self._connection = Connection.open(kubeconfig=server.kubeconfig, qps=10_000, burst=10_000)
        self._watched = _Watched(self._connection)
        self.reader: ClusterReader = self._watched
        self.writer: ClusterWriter = KubernetesWriter(
            self._connection, clock=SystemClock(), dice=SystemDice()
        )
        self.lease: LeaseStore = KubernetesLease(ApiCalls(self._connection), name="test", namespace="default")

    def close(self) -> None:
        self.reader.stop()
        self._connection.close()
        for resource in LEFT:
            self._clear(resource)
        assert self._watched.problems == []

    # --- Subject

    def apply(self, *objects: ApiObject) -> None:
        for thing in objects:
            resource, tree = manifest_of(thing)
            made = _ok(self._server.request("POST", resource.path(namespace="default"), tree))
            path = resource.path(made["metadata"]["name"], "default")
            if isinstance(thing, Node):
                # The API server has tainted the new node as not ready.
                self._merge(path, {"spec": {"taints": tree["spec"].get("taints")}})
            elif isinstance(thing, Pod):
                self._merge(f"{path}/status", {"status": tree["status"]})
            elif isinstance(thing, PodDisruptionBudget):
                self._merge(f"{path}/status", {"status": self._room_in(thing)})

    def pod(self, name: str) -> Pod | None:
        return self._read(POD, name, Pod)

    def node(self, name: str) -> Node | None:
        return self._read(NODE, name, Node)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        found = _ok(self._server.request("GET", RESOURCES[about.kind].path(about.name)))
        written = found.get("status", {}).get("conditions", ())
        return tuple(msgspec.convert(c, ConditionModel).value() for c in written)

    def class_generation(self, about: ObjectRef) -> int:
        _, found = self._server.request("GET", RESOURCES[about.kind].path(about.name))
        return int(found.get("status", {}).get("nodeClassObservedGeneration", 0))

    def annotations(self, about: ObjectRef) -> Mapping[str, str]:
        _, found = self._server.request("GET", RESOURCES[about.kind].path(about.name))
        annotations: dict[str, str] = found["metadata"].get("annotations", {})
        return annotations

    def status(self, about: ObjectRef) -> Mapping[str, Any] | None:
        code, found = self._server.request("GET", RESOURCES[about.kind].path(about.name))
        if code == 404:
            return None
        return {field: value for field, value in found.get("status", {}).items() if field != "conditions"}

    def delete(self, about: ObjectRef) -> None:
        _ok(self._server.request("DELETE", RESOURCES[about.kind].path(about.name)))

    def events(self) -> list[tuple[ClusterEvent, int]]:
        items = self._items(EVENT)
        items.sort(key=lambda e: e["metadata"]["name"].rpartition(".")[2])
        return [(_event(item), item["count"]) for item in items]

    def settle(self) -> None:
        if not self._watched.on:
            # What is told nevertheless would be by now.
            time.sleep(0.2)
            return
        there = {
            self._key(r, item): item["metadata"]["resourceVersion"]
            for r in WATCHED
            for item in self._items(r)
            if r not in WORKLOADS or item["spec"].get("replicas") != 0  # of others nothing is told
        }
        self._watched.await_told(there)

    # --- the API server

    def _read(self, resource: Resource, name: str, of: type[T]) -> T | None:
        status, found = self._server.request("GET", resource.path(name, "default"))
        if status == 404:
            return None
        assert status == 200, found
        kind = kind_of(resource.api_version, resource.kind)
        return next(o for o in kind.read(found, Reading()).objects if isinstance(o, of))

    def _items(self, resource: Resource) -> list[Tree]:
        return list(_ok(self._server.request("GET", resource.path()))["items"])

    def _merge(self, path: str, patch: Tree) -> Tree:
        return _ok(self._server.request("PATCH", path, patch, MERGE))

    def _key(self, resource: Resource, item: Tree) -> tuple[str, str]:
        name: str = item["metadata"]["name"]
        match resource.kind:
            case "Pod" | "DaemonSet" | "ReplicaSet" | "StatefulSet":
                return resource.kind, item["metadata"]["uid"]
            case "EC2NodeClass" | "AWSNodeTemplate" | "KWOKNodeClass":
                return Kind.NODE_CLASS, f"{resource.kind}/{name}"
            case "Machine":
                return Kind.NODE_CLAIM, name
            case "Provisioner":
                return Kind.NODE_POOL, name
            case "PersistentVolumeClaim" | "PodDisruptionBudget":
                return resource.kind, f"{item['metadata']['namespace']}/{name}"
            case _:
                return resource.kind, name

    def _room_in(self, budget: PodDisruptionBudget) -> Tree:
        """What the controller of budgets would say of a new one, which is at least so many pods."""
        assert budget.selector is not None
        assert budget.min_available is not None
        pods = [pod for item in self._items(POD) if (pod := self.pod(item["metadata"]["name"])) is not None]
        healthy = sum(budget.selector.selects(pod.labels) and pod.ready for pod in pods)
        needed = budget.min_available.of(healthy)
        return {
            "observedGeneration": 1,
            "expectedPods": healthy,
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "disruptionsAllowed": max(healthy - needed, 0),
        }

    def _clear(self, resource: Resource) -> None:
        items = self._items(resource)
        for item in items:
            if resource == NAMESPACE:
                self._clear_namespace(item)
                continue
            path = resource.path(item["metadata"]["name"], item["metadata"].get("namespace"))
            if item["metadata"].get("finalizers"):
                self._merge(path, {"metadata": {"finalizers": None}})
            status, answer = self._server.request("DELETE", path, {"gracePeriodSeconds": 0})
            assert status in (200, 404), answer

    def _clear_namespace(self, item: Tree) -> None:
        """Let a namespace go, which is what a controller does that is not there."""
        name = item["metadata"]["name"]
        if name not in OF_EVERY_CLUSTER:
            path = NAMESPACE.path(name)
            going = _ok(self._server.request("DELETE", path))
            _ok(self._server.request("PUT", f"{path}/finalize", {**going, "spec": {"finalizers": []}}))


class _Watched:
    """Our reader, and what it has told so far."""

    def __init__(self, connection: Connection) -> None:
        self.problems: list[BaseException] = []
        self.on = False
        self._reader = KubernetesReader(
            connection, congested=lambda: False, failed=self.problems.append, log=_silence
        )
        self.get_claim = self._reader.get_claim
        self.list_claims = self._reader.list_claims
        self.list_nodes = self._reader.list_nodes
        self.attached_volumes = self._reader.attached_volumes
        self._told: dict[tuple[str, str], str] | None = None
        self._news = threading.Condition()

    def feed(self, to: Ref[ClusterFact]) -> None:
        self._told = None
        self.on = True
        self._reader.feed(_Teed(self, to))

    def stop(self) -> None:
        self.on = False
        self._reader.stop()

    def note(self, fact: ClusterFact) -> None:
        with self._news:
            match fact:
                case Resynced():
                    self._told = dict(_version(thing) for thing in fact.objects)
                case ObjectSeen() if self._told is not None:
                    self._told.update((_version(fact.object),))
                case ObjectGone() if self._told is not None:
                    self._told.pop((fact.kind, fact.key), None)
                case _:
                    raise AssertionError(f"nobody expects {fact}")
            self._news.notify_all()

    def await_told(self, there: Mapping[tuple[str, str], str]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self._told == there, PATIENCE), f"{self._told}, not {there}"


class _Teed:
    def __init__(self, watched: _Watched, to: Ref[ClusterFact]) -> None:
        self._watched = watched
        self._to = to

    def tell(self, message: ClusterFact, /) -> None:
        self._to.tell(message)
        self._watched.note(message)


def _version(thing: Any) -> tuple[tuple[str, str], str]:
    return (kind_of_object(thing), key_of(thing)), str(thing.resource_version)


def _event(item: Tree) -> ClusterEvent:
    about = item["involvedObject"]
    ref = ObjectRef(about["kind"], about["name"], about.get("namespace", ""), about.get("uid", ""))
    return ClusterEvent(ref, item["reason"], item["message"], warning=item["type"] == "Warning")


def _silence(message: str, /, **fields: object) -> None:
    del message, fields


def _ok(answer: tuple[int, Any]) -> Tree:
    status, body = answer
    assert status in (200, 201), body
    tree: Tree = body
    return tree
