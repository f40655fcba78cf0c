"""The writer of the API server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from treenail.adapters.kubernetes.annotation_writes import AnnotationWrites
from treenail.adapters.kubernetes.api_calls import ApiCalls, Sender
from treenail.adapters.kubernetes.buffer_writes import BufferWrites
from treenail.adapters.kubernetes.claim_writes import ClaimWrites
from treenail.adapters.kubernetes.condition_writes import ConditionWrites
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.event_writes import EventWrites
from treenail.adapters.kubernetes.node_class_finalizers import FinalizerWrites
from treenail.adapters.kubernetes.node_writes import NodeWrites
from treenail.adapters.kubernetes.pod_writes import PodWrites
from treenail.adapters.kubernetes.usage_writes import UsageWrites
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.runtime import Clock, Dice
from treenail.domain.status.buffer_status import BufferStatus
from treenail.domain.status.pool_usage import PoolUsage


class KubernetesWriter:
    """The `ClusterWriter` on a real API server. Its calls block; any number of threads may make them.

    `clock` dates conditions and events; `dice` and `pause` (seconds) spread what is tried again.
    """

    def __init__(
        self, connection: Sender, *, clock: Clock, dice: Dice, pause: Callable[[float], None] = time.sleep
    ) -> None:
        calls = ApiCalls(connection)
        retries = ConflictRetries(dice, pause)
        self._claims = ClaimWrites(calls, clock=clock, retries=retries)
        self._nodes = NodeWrites(calls, retries)
        self._pods = PodWrites(calls)
        self._events = EventWrites(calls, clock=clock, pause=pause)
        self._conditions = ConditionWrites(calls, clock=clock, retries=retries)
        self._annotations = AnnotationWrites(calls, retries)
        self._usage = UsageWrites(calls)
        self._buffers = BufferWrites(calls, clock=clock, retries=retries)
        self._finalizers = FinalizerWrites(calls, retries)

    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        """Create a NodeClaim, or a Machine where that is its generation."""
        return self._claims.create(claim)

    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        """Change a claim and its status."""
        return self._claims.patch(name, patch, version)

    def delete_claim(self, name: str, *, uid: str) -> None:
        """Mark a claim as deleting."""
        self._claims.delete(name, uid)

    def create_node(self, node: Node) -> Node:
        """Create a node."""
        return self._nodes.create(node)

    def patch_node(self, name: str, patch: NodePatch, *, seen: Node | None = None) -> Node:
        """Change a node."""
        return self._nodes.patch(name, patch, seen)

    def delete_node(self, name: str, *, uid: str) -> None:
        """Mark a node as deleting."""
        self._nodes.delete(name, uid)

    def evict_pod(self, namespace: str, name: str, *, uid: str) -> None:
        """Evict a pod, if its disruption budget allows it."""
        self._pods.evict(namespace, name, uid)

    def delete_pod(self, namespace: str, name: str, *, uid: str, grace_seconds: int) -> None:
        """Delete a pod without asking any budget."""
        self._pods.delete(namespace, name, uid, grace_seconds)

    def bind_pod(self, namespace: str, name: str, *, uid: str, node: str) -> None:
        """Bind a pod to a node."""
        self._pods.bind(namespace, name, uid, node)

    def publish(self, event: ClusterEvent, count: int = 1) -> None:
        """Publish an event that came so often, or count it."""
        self._events.publish(event, count)

    def set_conditions(
        self,
        about: ObjectRef,
        conditions: tuple[Condition, ...],
        meaning: NodeClassMeaning | None = None,
        *,
        class_generation: int = 0,
    ) -> None:
        """Set conditions of a pool or a node class, and what the class means."""
        self._conditions.set(about, conditions, meaning, class_generation)

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Annotate a pool or a node class."""
        self._annotations.annotate(about, annotations)

    def set_usage(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set what the nodes of a pool have together."""
        self._usage.set(about, usage)

    def set_buffer_status(self, status: BufferStatus) -> None:
        """Set what was found for a capacity buffer."""
        self._buffers.set(status)

    def hold_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Keep a node class from going."""
        self._finalizers.hold(about, finalizer)

    def release_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Let a node class go."""
        self._finalizers.release(about, finalizer)
