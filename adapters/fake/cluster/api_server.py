"""The API server: validates, stores and answers each request. No faults happen here."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from treenail.adapters.api.workloads import ApiObject, Deployment, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.admission import Admission
from treenail.adapters.fake.cluster.budgets import Budgets
from treenail.adapters.fake.cluster.objects import Address, address, address_of, spoken
from treenail.adapters.fake.cluster.patches import patched_claim, patched_node
from treenail.adapters.fake.cluster.statuses import Statuses
from treenail.adapters.fake.cluster.store import Store, check_uid, check_version
from treenail.adapters.fake.cluster.updates import updated
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING
from treenail.domain.model.taints import NOT_READY

T = TypeVar("T", bound=ApiObject)


class ApiServer:
    """The requests of users and of autoscalers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.budgets = Budgets(store)
        self._admission = Admission(store)
        self.statuses = Statuses(store)

    # --- any object

    def apply(self, thing: T) -> T:
        """Create an object, or change the one of its name if its kind allows that.

        Raises:
            InvalidError: it could not be.
        """
        known = self._store.find(address_of(thing))
        admitted = self._admission.admit(thing, known)
        if known is None:
            return self._store.add(admitted)
        changed = updated(known, admitted)
        mended = self._store.mend(address_of(thing)) is not None
        return known if changed == known and not mended else self._store.put(changed)  # type: ignore[return-value]

    def restore(self, thing: T) -> T:
        """Keep an object as it was in another cluster, or before; its admission is not checked again.

        Raises:
            AlreadyExistsError: its name is taken.
            InvalidError: its uid is taken.
        """
        since = thing.created_at if isinstance(thing, Pod | Node | NodeClaim) else None
        return self._store.add(self._admission.restored(thing), since=since)

    def create(self, thing: T) -> T:
        """Create an object.

        Raises:
            AlreadyExistsError: its name is taken.
            InvalidError: it could not be.
        """
        return self._store.add(self._admission.admit(thing, None))

    def delete(self, where: Address, *, foreground: bool) -> None:
        """Delete an object, with its dependents first where `foreground` is set.

        Raises:
            NotFoundError: it is not there.
        """
        thing = self._store.there(where)
        if isinstance(thing, Pod):
            pods.delete(self._store, thing, thing.spec.grace_seconds)
        else:
            self._store.delete(where, foreground=foreground)

    def scale(self, where: Address, replicas: int) -> None:
        """Set the replicas of a workload.

        Raises:
            NotFoundError: it is not there.
            InvalidError: its kind has no replicas, or that is no number of them.
        """
        workload = self._store.there(where)
        if not isinstance(workload, Deployment | ReplicaSet | StatefulSet):
            raise InvalidError(f"{spoken(where)} has no replicas")
        self.apply(replace(workload, replicas=replicas))

    # --- claims

    def claim(self, name: str) -> NodeClaim:
        """Return a claim.

        Raises:
            NotFoundError: it is not there.
        """
        return self._store.get(NodeClaim, address("NodeClaim", name))

    def claims(self) -> tuple[NodeClaim, ...]:
        """Return all claims that can be understood, by name."""
        claims = (c for c in self._store.all(NodeClaim) if address_of(c) not in self._store.broken)
        return tuple(sorted(claims, key=lambda c: c.name))

    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        """Keep a new claim. As of any new object, its status is not kept.

        Raises:
            AlreadyExistsError: its name is taken.
            InvalidError: it could not be.
        """
        written = replace(
            claim,
            uid="",
            deleting_since=None,
            provider_id="",
            node_name="",
            image_id="",
            capacity=NOTHING,
            allocatable=NOTHING,
            conditions=(),
            last_pod_event_at=None,
        )
        return self.create(written)

    def patch_claim(self, name: str, patch: ClaimPatch, version: int | None) -> NodeClaim:
        """Change a claim."""
        claim = self.claim(name)
        check_version(claim, version)
        changed = self._admission.admit(patched_claim(claim, patch, self._store.now()), claim)
        return claim if changed == claim else self._store.put(changed)

    def delete_claim(self, name: str, uid: str) -> None:
        """Mark a claim as deleting."""
        check_uid(self.claim(name), uid)
        self._store.delete(address("NodeClaim", name))

    # --- nodes

    def create_node(self, node: Node) -> Node:
        """Keep a new node. Until it is found to be ready, it is tainted as not.

        Raises:
            AlreadyExistsError: its name is taken.
            InvalidError: it could not be.
        """
        taints = node.taints if NOT_READY in node.taints else (*node.taints, NOT_READY)
        return self.create(replace(node, uid="", deleting_since=None, taints=taints))

    def patch_node(self, name: str, patch: NodePatch, version: int | None) -> Node:
        """Change a node."""
        node = self._store.get(Node, address("Node", name))
        check_version(node, version)
        changed = self._admission.admit(patched_node(node, patch), node)
        return node if changed == node else self._store.put(changed)

    def delete_node(self, name: str, uid: str) -> None:
        """Mark a node as deleting."""
        check_uid(self._store.get(Node, address("Node", name)), uid)
        self._store.delete(address("Node", name))

    # --- pods

    def bind_pod(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind a pod to a node."""
        pods.bind(self._store, pods.pod_called(self._store, namespace, name, uid), node)

    def evict_pod(self, namespace: str, name: str, uid: str) -> None:
        """Delete a pod, if the disruption budgets allow it.

        Raises:
            TooManyRequestsError: they do not, or more than one budget selects the pod.
        """
        pod = pods.pod_called(self._store, namespace, name, uid)
        self.budgets.check(pod)
        pods.delete(self._store, pod, pod.spec.grace_seconds)

    def delete_pod(self, namespace: str, name: str, uid: str, grace_seconds: int) -> None:
        """Delete a pod."""
        pods.delete(self._store, pods.pod_called(self._store, namespace, name, uid), grace_seconds)
