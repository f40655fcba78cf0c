"""The cluster that the contract of `ClusterReader` and `ClusterWriter` is held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from tests.adapters.fake.cluster.builders import a_pod
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.nodes import Condition, Node
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.ports import ClusterReader, ClusterWriter, LeaseStore

FINALIZER: Final = "example.com/wait"
# The namespaces that are on every cluster.
OF_EVERY_CLUSTER: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class Subject(Protocol):
    """A cluster in which nothing runs but what the tests put there."""

    reader: ClusterReader
    writer: ClusterWriter
    lease: LeaseStore

    def apply(self, *objects: ApiObject) -> None:
        """Create objects as they are, with their status."""

    def pod(self, name: str) -> Pod | None: ...
    def node(self, name: str) -> Node | None: ...
    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]: ...
    def status(self, about: ObjectRef) -> Mapping[str, Any] | None:
        """Return the status of a node class but its conditions, as the API has it; None where it is gone."""

    def class_generation(self, about: ObjectRef) -> int:
        """Return of which generation of its node class the conditions of a pool tell, 0 where none."""
        ...

    def annotations(self, about: ObjectRef) -> Mapping[str, str]: ...
    def delete(self, about: ObjectRef) -> None:
        """Delete a node class, as people do."""

    def events(self) -> list[tuple[ClusterEvent, int]]: ...
    def settle(self) -> None:
        """Wait until all that was written is told."""

    def close(self) -> None:
        """End what runs for it."""


def the_pod(subject: Subject, name: str) -> Pod:
    pod = subject.pod(name)
    assert pod is not None
    return pod


def the_node(subject: Subject, name: str) -> Node:
    node = subject.node(name)
    assert node is not None
    return node


def unbound(name: str) -> Pod:
    """A pod that no scheduler there is looks at."""
    return a_pod(name, scheduler="nobody")


def running(name: str) -> Pod:
    return a_pod(name, node_name="n-0", phase=Phase.RUNNING, ready=True, labels={"app": "web"})
