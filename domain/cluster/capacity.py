"""Capacity of the cluster: what is free on existing nodes, and what pools may still buy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from treenail.domain.cluster.cluster_facts import DaemonSet, Kind
from treenail.domain.cluster.daemon_sizes import DaemonSizes
from treenail.domain.cluster.device_counts import Counted, DeviceCount, Holder
from treenail.domain.cluster.existing_nodes import ExistingNodeReader, Occupancy
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.marked_nodes import MarkedNodes
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.cluster.promises import PromiseBook
from treenail.domain.cluster.volumes import VolumeResolver
from treenail.domain.model import labels
from treenail.domain.model.cordons import marked
from treenail.domain.model.node_pools import NodePool, heaviest_first
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.pool_limits import held_in_excess, limits_left
from treenail.domain.model.reserved_claims import in_reservations
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds


class Capacity:
    """The free capacity, computed when it is asked for, and cached.

    A change of its inputs calls the `forget_*` method for it; `ChangeRecorder` does so.
    """

    def __init__(self, objects: Inventory, promises: PromiseBook, marks: MarkedNodes) -> None:
        self._objects = objects
        self._promises = promises
        self._marks = marks
        self._existing_nodes: dict[str, ExistingNode | None] = {}
        self._reader = ExistingNodeReader(objects.storage)
        self._volumes = VolumeResolver(objects.storage)
        self._limits: dict[str, Resources | None] = {}
        self._daemon_sizes = DaemonSizes()
        self._sized_daemons: tuple[DaemonSet, ...] | None = None

    def forget_node(self, name: str) -> None:
        """Forget what is free on a view."""
        self._existing_nodes.pop(name, None)

    def forget_all_nodes(self) -> None:
        """Forget what is free on every view."""
        self._existing_nodes.clear()

    def forget_limit(self, pool: str) -> None:
        """Forget what a pool may still buy."""
        self._limits.pop(pool, None)

    def forget_daemon_sets(self) -> None:
        """Forget how large DaemonSets are, and what is free beside their pods."""
        self._sized_daemons = None
        self._existing_nodes.clear()

    def forget_daemon_pods(self, uid: str) -> None:
        """Forget what the pods of a DaemonSet request: it is gone, or has another template."""
        self._daemon_sizes.forget(uid)
        self._sized_daemons = None

    def measure_daemon(self, pod: Pod) -> bool:
        """Take in what a daemon pod requests; return whether new nodes need other room because of it."""
        before = self.sized_daemons()
        if self._daemon_sizes.note(pod) not in self._objects.daemons:
            return False
        self._sized_daemons = None
        return self.sized_daemons() != before

    def existing_node(self, name: str, *, beside_buffers: bool = False) -> ExistingNode | None:
        """Return what is free on a view; None where no pod should be sent there.

        The places that buffers keep are free, unless what is left `beside_buffers` is asked for.
        """
        view = self._objects.view(name)
        if view is None or not self._open(view):
            return None
        return self._measured(view, beside_buffers=beside_buffers)

    def _open(self, view: NodeView) -> bool:
        return view.launched and not self._marks.going(view) and not view.unread

    def _measured(self, view: NodeView, *, beside_buffers: bool = False) -> ExistingNode | None:
        if beside_buffers and self._promises.at_for_buffers(view.name):
            return self._measure(view, self._objects.pods_of(view), beside_buffers=True)
        if view.name not in self._existing_nodes:
            self._existing_nodes[view.name] = self._measure(view, self._objects.pods_of(view))
        return self._existing_nodes[view.name]

    def _measure(
        self, view: NodeView, pods: tuple[Pod, ...], *, closed: bool = False, beside_buffers: bool = False
    ) -> ExistingNode | None:
        name, kept = view.name, self._promises.at_for_buffers(view.name)
        promises = self._promises.at(name) if beside_buffers or not kept else self._promises.at_for_pods(name)
        promised = tuple(self._objects.pods.get(p.pod, p.like) for p in promises)
        reserved = self._promises.reserved(name)
        if kept and not beside_buffers:
            reserved = reserved.minus(total(p.requests for p in kept))
        occupancy = Occupancy(pods=pods, promised=promised, reserved=reserved)
        # Daemon pods of a node in use mostly exist, and count as they are.
        daemon_sets = self._objects.daemons.values() if view.initialized else self.sized_daemons()
        daemons = (d.spec for d in daemon_sets)
        if self._open(view) and not closed:
            return self._reader.open_existing_node(view, occupancy, daemons)
        if self._only_cordoned(view) and not closed:
            return self._reader.cordoned_existing_node(view, occupancy, daemons)
        return self._reader.closed_existing_node(view, occupancy)

    def _only_cordoned(self, view: NodeView) -> bool:
        """Return whether nothing but a cordon, which somebody else made, keeps pods off a view."""
        unschedulable = view.node is not None and view.node.unschedulable
        return (
            view.launched and unschedulable and not (self._marks.ending(view) or marked(view) or view.unread)
        )

    def volume_needs(self, pods: Iterable[Pod]) -> dict[str, VolumeNeeds]:
        """Return what the volumes of pods need, by the uid of the pod."""
        return self._volumes.needs(pods)

    def count_devices(self, pods: Iterable[Pod], existing_nodes: tuple[ExistingNode, ...]) -> Counted:
        """Return the needs of pods, with the devices they ask for, and nodes with those that are free.

        What `pods` are promised themselves is free for them.
        """
        pods = tuple(pods)
        claiming = tuple(pod for pod in pods if pod.spec.volumes or pod.spec.resource_claims)
        needs = self._volumes.needs(claiming, counted=True)
        asking = tuple(p for p in claiming if p.spec.resource_claims and not needs[p.uid].device_problem)
        if not asking:
            return Counted(needs=needs, existing_nodes=existing_nodes)
        expected = {
            view.name: view.claim.drivers
            for view in self._objects.views()
            if view.claim is not None and view.claim.drivers and not view.initialized
        }
        holders = tuple(self._holders(frozenset(pod.uid for pod in asking)))
        return DeviceCount(self._objects.storage, existing_nodes, holders, expected).counted(asking, needs)

    def crowded_out(self, name: str) -> tuple[str, ...]:
        """Return the pods, by uid, that are promised devices on a view of which others have too many.

        Pods that follow one of these to the devices of a shared claim are crowded out with it.
        """
        storage = self._objects.storage
        promises = [promise for promise in self._promises.at_for_pods(name) if promise.spec.resource_claims]
        asking = tuple(self._objects.pods.get(promise.pod, promise.like) for promise in promises)
        node = self.existing_node(name) if asking and not storage.unclear_ones(Kind.RESOURCE_CLAIM) else None
        if node is None:
            return ()
        there = storage.devices.devices_of(node.labels.get(labels.NODE_NAME, ""))
        if any(device.special for device in there.values()):
            return ()  # what is not counted is no reason to give up a place
        counted = self.count_devices(asking, (node,))
        left, gone, lost = counted.existing_nodes[0].free, list[str](), set[str]()
        clear = [(p.uid, needs) for p in asking if not (needs := counted.needs[p.uid]).device_problem]
        for uid, needs in clear:
            asked = Resources(needs.devices)
            if asked.fits(left):
                left = left.minus(asked)
            else:
                gone.append(uid)
                lost.update(needs.leads)
        return (*gone, *(uid for uid, needs in clear if uid not in gone and lost.intersection(needs.follows)))

    def _holders(self, but: frozenset[str]) -> Iterator[Holder]:
        """Yield the pods that have a place, of those with resource claims that may have no devices yet.

        Left out are those `but`, by uid.
        """
        for promise in self._promises.all():
            if promise.spec.resource_claims and promise.pod not in but:
                pod = self._objects.pods.get(promise.pod, promise.like)
                yield Holder(pod=pod, target=promise.target)
        # A pod may be seen bound before its claim is seen to have devices.
        storage = self._objects.storage
        for key in sorted(k for k, claim in storage.resource_claims.items() if not claim.allocated):
            for uid in storage.device_users(key):
                user = self._objects.pods.get(uid)
                if user is not None and user.bound:
                    yield Holder(pod=user, target=self._objects.view_name(user.node_name))

    def sized_daemons(self) -> tuple[DaemonSet, ...]:
        """Return the DaemonSets, by uid, each as large as its pods are on new nodes."""
        if self._sized_daemons is None:
            self._sized_daemons = tuple(
                self._daemon_sizes.sized(self._objects.daemons[uid]) for uid in sorted(self._objects.daemons)
            )
        return self._sized_daemons

    def limit_left(self, pool: NodePool) -> Resources | None:
        """Return what a pool may still buy of each limited resource; None without limits."""
        if pool.name not in self._limits:
            claims = (
                c
                for c in self._objects.claims.values()
                if c.pool == pool.name and c.name not in self._marks.launch_failed
            )
            self._limits[pool.name] = limits_left(pool, claims)
        return self._limits[pool.name]

    def _limits_at_most(self, left: Mapping[str, Resources]) -> Mapping[str, Resources]:
        """Return what may be `left` when all claims are launched, of pools that have some that are not."""
        found: dict[str, Resources] = {}
        for claim in self._objects.claims.values():
            before = left.get(claim.pool)
            if before is not None and not claim.launched and claim.name not in self._marks.launch_failed:
                given_back = {name: -amount for name, amount in held_in_excess(claim).items()}
                found[claim.pool] = found.get(claim.pool, before).minus(given_back)
        return found

    def snapshot(
        self,
        revision: int,
        now: datetime,
        leaving: Collection[str],
        movable: Collection[str] = (),
        *,
        beside_buffers: bool = False,
    ) -> Snapshot:
        """Return all that planning may look at, at `revision`, as if the views `leaving` were gone.

        Those views take no pods, and the pods on them that must move are to be placed. The pods of the views
        `movable` are to be placed too, but these views stay open. Room that buffers keep is free, unless the
        plan is to be made `beside_buffers`.
        """
        pools = heaviest_first(self._objects.pools.values())
        limits = {p.name: left for p in pools if (left := self.limit_left(p)) is not None}
        existing_nodes, pods = self._existing_nodes_and_pods(
            now, leaving, movable, beside_buffers=beside_buffers
        )
        counted = self.count_devices(pods, existing_nodes)
        return Snapshot(
            revision=revision,
            taken_at=now,
            pods=pods,
            existing_nodes=counted.existing_nodes,
            pools=pools,
            node_classes=dict(self._objects.node_classes),
            daemons=self.sized_daemons(),
            limits_left=limits,
            limits_at_most=self._limits_at_most(limits),
            in_reservations=in_reservations(
                c for c in self._objects.claims.values() if c.name not in self._marks.launch_failed
            ),
            volumes=counted.needs,
            device_models=counted.models,
            namespaces={
                name: self._objects.namespaces[name].labels for name in sorted(self._objects.namespaces)
            },
        )

    def _existing_nodes_and_pods(
        self, now: datetime, leaving: Collection[str], movable: Collection[str], *, beside_buffers: bool
    ) -> tuple[tuple[ExistingNode, ...], tuple[Pod, ...]]:
        """Return existing nodes, and the pods to place: pods that wait, and pods on nodes that go for good.

        A cordon alone keeps pods off and moves none.
        """
        pods = [
            self._objects.pods[uid] for uid in self._objects.provisionable if self._promises.of(uid) is None
        ]
        existing_nodes: list[ExistingNode] = []
        self._reader.tidy(self._existing_nodes.values())
        for view in self._objects.views():
            ending = self._marks.ending(view) or view.name in leaving
            if not ending and view.name not in movable:
                existing_node = self._measured(view, beside_buffers=beside_buffers)
            else:
                there = self._objects.pods_of(view)
                moving = {p.uid: p for p in there if self._must_move(p, view, now)}
                pods += (p for p in moving.values() if self._promises.of(p.uid) is None)
                if view.name in movable:
                    pods += (promise.like for promise in self._promises.at_for_buffers(view.name))
                # Who moves is not here any more; who that is depends on the time, so this is not kept.
                existing_node = self._measure(
                    view, tuple(p for p in there if p.uid not in moving), closed=ending
                )
            if existing_node is not None:
                existing_nodes.append(existing_node)
        existing_nodes.sort(key=lambda r: (not r.initialized, r.labels.get(labels.NODE_NAME, r.name), r.name))
        return tuple(existing_nodes), tuple(sorted(pods, key=lambda p: (p.created_at, p.uid)))

    def _must_move(self, pod: Pod, view: NodeView, now: datetime) -> bool:
        """Return whether a pod on a view that goes needs another place, as it has one or will have to leave.

        Nobody knows when those leave that an annotation or a budget keeps for good. With a grace period of
        its own, a node deletes the latter in the end.
        """
        if self._promises.of(pod.uid) is not None:
            return True
        if not pod.reschedulable or self._marks.loses_pods(view):
            return pod.reschedulable
        limited = view.claim is not None and view.claim.termination_grace_period is not None
        return not (pod.protected(now) or (not limited and self._objects.pod_budgets.keeps(pod)))
