"""Free resources of each node, updated with every change."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import count
from typing import Final

from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import HostPort, Pod
from treenail.domain.model.requirements import Requirements

_SHORTEST_HISTORY: Final = 256
_ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104


class NodeAccount:
    """One node: its pods and the room they leave. It outlives its node as long as it has pods.

    `version` moves with everything a scheduler looks at, `shape` with labels, taints and whether pods
    may come at all; no two accounts ever have one in common. `order` counts the nodes as they came.
    `held` are pods that wait for room here, which the scheduler nominated the node for.
    """

    __slots__ = (
        "_described",
        "_versions",
        "held",
        "name",
        "node",
        "order",
        "pods",
        "ports",
        "room",
        "shape",
        "version",
    )

    def __init__(self, name: str, versions: Iterator[int]) -> None:
        self.name = name
        self._versions = versions
        self.node: Node | None = None
        self.order = 0
        self.pods: dict[str, Pod] = {}
        self.room: dict[str, int] = {}
        self.ports: list[HostPort] = []
        self.held: dict[str, Pod] = {}
        self.version = 0
        self.shape = 0
        self._described: Requirements | None = None

    @property
    def described(self) -> Requirements:
        """The node's labels as requirements, and its name."""
        if self._described is None:
            there = {**self.node.labels, labels.NODE_NAME: self.name} if self.node else {}
            self._described = Requirements.from_labels(there)
        return self._described

    def shortage(self, needs: Iterable[tuple[str, int]]) -> str | None:
        """Return the first resource there is too little of, if any."""
        room = self.room
        for resource, amount in needs:
            if amount > room.get(resource, 0):
                return resource
        return None

    def port_taken(self, ports: Iterable[HostPort]) -> bool:
        """Return whether one of `ports` is in use."""
        return clash(ports, self.ports)

    def held_from(self, priority: int, but: Container[str] = ()) -> tuple[Pod, ...]:
        """Return the pods whose room is closed to those of a priority, but for those of the uids `but`."""
        return tuple(p for uid, p in self.held.items() if p.spec.priority >= priority and uid not in but)

    def room_beside(
        self, without: Iterable[Pod], held: Iterable[Pod]
    ) -> tuple[dict[str, int], list[HostPort]]:
        """Return the room, and the ports in use, were the pods `without` gone and those `held` there."""
        room, leaving = dict(self.room), set()
        for pod in without:
            leaving.add(pod.uid)
            for resource, amount in pod.spec.requests.items():
                room[resource] = room.get(resource, 0) + amount
        staying = [p for uid, p in self.pods.items() if p.bound and uid not in leaving]
        ports = [port for pod in (*staying, *held) for port in pod.spec.host_ports]
        for pod in held:
            for resource, amount in pod.spec.requests.items():
                room[resource] = room.get(resource, 0) - amount
        return room, ports

    def hold(self, pod: Pod, *, here: bool) -> bool:
        """Hold room for a pod, or (not `here`) hold it no longer; return whether room became free."""
        if here == (pod.uid in self.held):
            return False
        if here:
            self.held[pod.uid] = pod
        else:
            del self.held[pod.uid]
        self.version = next(self._versions)
        return not here

    def set_node(self, node: Node | None) -> bool:
        """Take in a node's state; return whether that may let more pods come."""
        before, self.node = self.node, node
        if node is None:
            self.room = {}
        elif before is None:
            self.room = dict(node.allocatable)
            for pod in self.pods.values():
                self._count(pod, -1)
        elif before.allocatable != node.allocatable:
            for resource in {**before.allocatable, **node.allocatable}:
                gained = node.allocatable.get(resource, 0) - before.allocatable.get(resource, 0)
                self.room[resource] = self.room.get(resource, 0) + gained
        elif _same_shape(before, node):
            return False
        self.version = self.shape = next(self._versions)
        self._described = None
        return node is not None

    def put(self, pod: Pod) -> bool:
        """Take in a pod's state; return whether that makes room."""
        known = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if known is not None and known.spec is pod.spec and known.bound == pod.bound:
            return False
        if known is not None:
            self._count(known, 1)
        self._count(pod, -1)
        self.version = next(self._versions)
        return known is not None and known.bound and not pod.bound

    def take(self, uid: str) -> bool:
        """Forget a pod; return whether that makes room."""
        pod = self.pods.pop(uid, None)
        if pod is None or not pod.bound:
            return False
        self._count(pod, 1)
        self.version = next(self._versions)
        return True

    def _count(self, pod: Pod, sign: int) -> None:
        if not pod.bound:
            return
        if self.node is not None:
            for resource, amount in pod.spec.requests.items():
                self.room[resource] = self.room.get(resource, 0) + sign * amount
        for port in pod.spec.host_ports:
            if sign < 0:
                self.ports.append(port)
            else:
                self.ports.remove(port)


class Accounts:
    """The accounts of all nodes, and the history of their changes."""

    def __init__(self, store: Store) -> None:
        self.by_name: dict[str, NodeAccount] = {}
        self.history: list[str] = []
        self.forgotten = 0
        self.improved: list[Callable[[NodeAccount], None]] = []
        self._nodes = count(1)
        self._versions = count(1)
        store.listen(self._node_changed, "Node")
        store.listen(self._pod_changed, "Pod")

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return the pods bound to a node, finished ones too, in the order they came."""
        account = self.by_name.get(node)
        return () if account is None else tuple(account.pods.values())

    def present(self) -> Iterable[NodeAccount]:
        """Return the accounts of nodes that exist."""
        return (account for account in self.by_name.values() if account.node is not None)

    def _account(self, name: str) -> NodeAccount:
        account = self.by_name.get(name)
        if account is None:
            account = self.by_name[name] = NodeAccount(name, self._versions)
        return account

    def _node_changed(self, change: Change) -> None:
        account = self._account(change.address[1])
        version = account.version
        node = change.after if isinstance(change.after, Node) else None
        if change.before is None:
            account.order = next(self._nodes)
        better = account.set_node(node)
        self._settle(account, version, better=better)

    def _pod_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        for pod in (before, after):
            if isinstance(pod, Pod) and pod.nominated_node:
                self._nominated(pod.nominated_node, pod, after)
        if isinstance(after, Pod):
            if after.node_name:
                account = self._account(after.node_name)
                version = account.version
                self._settle(account, version, better=account.put(after))
        elif isinstance(before, Pod) and before.node_name:
            account = self._account(before.node_name)
            version = account.version
            self._settle(account, version, better=account.take(before.uid))

    def _nominated(self, name: str, pod: Pod, after: object) -> None:
        account = self.by_name.get(name)
        if account is not None:
            here = isinstance(after, Pod) and after.active and not after.node_name
            here = here and isinstance(after, Pod) and after.nominated_node == name
            version = account.version
            self._settle(account, version, better=account.hold(pod, here=here))

    def _settle(self, account: NodeAccount, version: int, *, better: bool) -> None:
        if account.node is None and not account.pods:
            del self.by_name[account.name]
        if account.version == version:
            return
        self.history.append(account.name)
        if len(self.history) > 4 * max(len(self.by_name), _SHORTEST_HISTORY):
            half = len(self.history) // 2
            del self.history[:half]
            self.forgotten += half
        if better:
            for hear in self.improved:
                hear(account)


def _same_shape(one: Node, other: Node) -> bool:
    return (
        one.taints == other.taints
        and one.unschedulable == other.unschedulable
        and one.deleting_since == other.deleting_since
        and (one.labels is other.labels or one.labels == other.labels)
    )


def clash(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> bool:
    """Return whether one of the ports `wanted` is among those in use."""
    there = tuple(used)
    return any(_clash(one, other) for one in wanted for other in there)


def _clash(one: HostPort, other: HostPort) -> bool:
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.ip == other.ip or one.ip in _ANY_ADDRESS or other.ip in _ANY_ADDRESS)
    )
