"""The objects of a live cluster, as a snapshot has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.snapshot.redaction import Tree, redacted
from treenail.adapters.api.snapshot.user_data import carry_over, has_user_data, hash_of
from treenail.adapters.cli.kubeconfig import connect
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.takeover.estate import OURS
from treenail.domain.model.devices import TAINT_RULE_VERSIONS
from treenail.domain.model.errors import PortError

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.kubernetes.connection import Connection

# Versions, the newest first; kind; plural; whether it is of a namespace.
_Kind = tuple[tuple[str, ...], str, str, bool]
_NAMESPACED: Final = ("CapacityBuffer",)
# Pods come before nodes: then a node that is new has no pod yet, and a pod without its node is left out.
POD: Final[_Kind] = (("v1",), "Pod", "pods", True)
NODE: Final[_Kind] = (("v1",), "Node", "nodes", False)
KINDS: Final[tuple[_Kind, ...]] = (
    *((versions, kind, plural, kind in _NAMESPACED) for versions, kind, plural in OURS),
    (("v1",), "Namespace", "namespaces", False),
    (("scheduling.k8s.io/v1",), "PriorityClass", "priorityclasses", False),
    (("v1",), "ResourceQuota", "resourcequotas", True),
    (("v1",), "LimitRange", "limitranges", True),
    (("storage.k8s.io/v1",), "StorageClass", "storageclasses", False),
    (("v1",), "PersistentVolume", "persistentvolumes", False),
    (("v1",), "PersistentVolumeClaim", "persistentvolumeclaims", True),
    (("storage.k8s.io/v1",), "CSINode", "csinodes", False),
    (("policy/v1",), "PodDisruptionBudget", "poddisruptionbudgets", True),
    (("apps/v1",), "DaemonSet", "daemonsets", True),
    (("apps/v1",), "Deployment", "deployments", True),
    (("apps/v1",), "ReplicaSet", "replicasets", True),
    (("apps/v1",), "StatefulSet", "statefulsets", True),
    (("batch/v1",), "CronJob", "cronjobs", True),
    (("batch/v1",), "Job", "jobs", True),
    (("v1",), "PodTemplate", "podtemplates", True),
    (("resource.k8s.io/v1",), "DeviceClass", "deviceclasses", False),
    (("resource.k8s.io/v1",), "ResourceClaimTemplate", "resourceclaimtemplates", True),
    (("resource.k8s.io/v1",), "ResourceSlice", "resourceslices", False),
    (TAINT_RULE_VERSIONS, "DeviceTaintRule", "devicetaintrules", False),
    (("resource.k8s.io/v1",), "ResourceClaim", "resourceclaims", True),
)


@dataclass(frozen=True, slots=True)
class ClusterWritten:
    """The objects of a cluster, redacted. `not_read` is "KIND: why" for each missing kind or object."""

    context: str
    version: str
    objects: tuple[Tree, ...]
    not_read: tuple[str, ...]
    without_user_data: int

    def counts(self) -> str:
        """Return how many objects there are of each kind: "200 Nodes, 3 NodePools"."""
        found = Counter(str(one["kind"]) for one in self.objects)
        return ", ".join(f"{count} {_many(kind) if count > 1 else kind}" for kind, count in found.items())


def write_cluster(kubeconfig: Path | None, context: str | None) -> ClusterWritten:
    """Read a cluster, by GET alone.

    Raises:
        BadInputError: it cannot be reached, or its nodes and pods cannot be read.
    """
    from treenail.adapters.controller.aws import server_version  # noqa: PLC0415
    from treenail.adapters.kubernetes.connection import NotConnectedError  # noqa: PLC0415

    try:
        connection = connect(kubeconfig, context)
        try:
            pods, nodes = _needed(connection, POD), _needed(connection, NODE)
            reading = _Reading(connection)
            others = [one for kind in KINDS for one in reading.all_of(kind)]
            return reading.written(connection.context, server_version(connection), others, nodes, pods)
        finally:
            connection.close()
    except (NotConnectedError, PortError) as error:
        raise BadInputError(f"the cluster cannot be read: {error}") from None


class _Reading:
    """Reads kinds, each in the newest version that is served, and notes what could not be read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._not_read: list[str] = []
        # The hashes of node classes that had user data, and those that they have without.
        self._hashes: dict[str, str] = {}
        self._user_data = 0

    def all_of(self, kind: _Kind) -> Iterator[Tree]:
        """Yield the objects of a kind, as far as they may be read."""
        versions, name, *_ = kind
        problem = ""
        for version in versions:
            try:
                found = _listed(self._connection, version, kind)
            except PortError as error:
                problem = problem or f"{name}: {error}"
                continue
            if found is not None:
                yield from self.redacted(version, name, found)
                return
        if problem:
            self._not_read.append(problem)

    def redacted(self, version: str, kind: str, items: list[dict[str, Any]]) -> Iterator[Tree]:
        """Yield objects without what a snapshot leaves out; those that make no sense are noted."""
        for item in items:
            try:
                written = redacted(version, kind, item)
                if has_user_data(item):
                    self._hashes[hash_of(item)] = hash_of(written)
                    self._user_data += 1
            except FieldError as error:
                self._not_read.append(f"{kind} {_called(item)}: {error.field}: {error.problem}")
                continue
            yield written

    def written(
        self,
        context: str,
        version: str,
        others: list[Tree],
        nodes: list[dict[str, Any]],
        pods: list[dict[str, Any]],
    ) -> ClusterWritten:
        """Return all of it; pods whose node is not there any more are left out."""
        carry_over(others, self._hashes)
        there = list(self.redacted("v1", "Node", nodes))
        names = {one["metadata"]["name"] for one in there}
        of_nodes = [
            one
            for one in self.redacted("v1", "Pod", pods)
            if not one["spec"].get("nodeName") or one["spec"]["nodeName"] in names
        ]
        return ClusterWritten(
            context=context,
            version=version,
            objects=(*others, *there, *of_nodes),
            not_read=tuple(self._not_read),
            without_user_data=self._user_data,
        )


def _listed(connection: Connection, version: str, kind: _Kind) -> list[dict[str, Any]] | None:
    from treenail.adapters.cli.live_objects import objects_of  # noqa: PLC0415
    from treenail.adapters.kubernetes.resources import Resource  # noqa: PLC0415

    _, name, plural, namespaced = kind
    return objects_of(connection, Resource(name, version, plural, namespaced=namespaced))


def _needed(connection: Connection, kind: _Kind) -> list[dict[str, Any]]:
    """Return the objects of a kind without which a snapshot makes no sense."""
    return _listed(connection, kind[0][0], kind) or []


def _called(item: Mapping[str, Any]) -> str:
    metadata = item.get("metadata") or {}
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata.get("name", ""))))


def _many(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"
