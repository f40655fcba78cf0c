"""Sums over the cluster model: existing nodes, limits and snapshots."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.daemon_sizes import DaemonSizes
from treenail.domain.cluster.existing_nodes import ExistingNodeReader, Occupancy
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.cluster.promises import PromiseBook
from treenail.domain.cluster.volumes import VolumeResolver
from treenail.domain.model import labels
from treenail.domain.model.cordons import marked
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.node_pools import NodePool, heaviest_first
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.reserved_claims import in_reservations
from treenail.domain.model.resources import Resources
from treenail.domain.model.usage import limits_left
from treenail.domain.packing.problem import ExistingNode


class Standings(Inventory):
    """How things stand in a cluster, worked out where it is asked for and kept until it changes.

    `revision` is that of the last change. `condemned` are the views that were decided to go, `doomed` those
    of them whose machine is gone at a time that is known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.revision = 0
        self.promises = PromiseBook()
        self.condemned: dict[str, None] = {}
        self.doomed: dict[str, None] = {}
        self._provisionable: dict[str, None] = {}
        self._void: dict[str, None] = {}
        self._existing_nodes: dict[str, ExistingNode | None] = {}
        self._maker = ExistingNodeReader(self.storage)
        self._volumes = VolumeResolver(self.storage)
        self._limits: dict[str, Resources | None] = {}
        self._daemon_sizes = DaemonSizes()
        self._sized_daemons: tuple[DaemonSet, ...] | None = None

    def going(self, view: NodeView) -> bool:
        """Return whether a view is on its way out, decided to be, or cordoned."""
        return view.leaving or view.name in self.condemned

    def ending(self, view: NodeView) -> bool:
        """Return whether a view goes for good, or is decided to, so that its pods need other places."""
        return view.ending or view.name in self.condemned

    def empty(self, name: str) -> bool:
        """Return whether nothing but daemons stands on a view, and nothing is promised a place there."""
        return not self.promises.at(name) and all(p.belongs for p in self.pods_on(name))

    def existing_node(self, name: str) -> ExistingNode | None:
        """Return what is free on a view; None where no pod should be sent there."""
        view = self.view(name)
        return self._measured(view) if view is not None and self._open(view) else None

    def _open(self, view: NodeView) -> bool:
        return view.launched and not self.going(view) and not view.unread

    def _measured(self, view: NodeView) -> ExistingNode | None:
        if view.name not in self._existing_nodes:
            self._existing_nodes[view.name] = self._measure(view, self.pods_of(view))
        return self._existing_nodes[view.name]

    def _measure(self, view: NodeView, pods: tuple[Pod, ...], *, closed: bool = False) -> ExistingNode | None:
        promised = tuple(self.pods.get(p.pod, p.like) for p in self.promises.at(view.name))
        occupancy = Occupancy(pods=pods, promised=promised, reserved=self.promises.reserved(view.name))
        # Those of a node in use are there, mostly, and count as they are.
        daemon_sets = self.daemons.values() if view.initialized else self.sized_daemons()
        daemons = (d.spec for d in daemon_sets)
        if self._open(view) and not closed:
            return self._maker.open_existing_node(view, occupancy, daemons)
        if self._only_cordoned(view) and not closed:
            return self._maker.cordoned_existing_node(view, occupancy, daemons)
        return self._maker.closed_existing_node(view, occupancy)

    def _only_cordoned(self, view: NodeView) -> bool:
        """Return whether nothing but a cordon, which somebody else made, keeps pods off a view."""
        unschedulable = view.node is not None and view.node.unschedulable
        return view.launched and unschedulable and not (self.ending(view) or marked(view) or view.unread)

    def sized_daemons(self) -> tuple[DaemonSet, ...]:
        """Return the DaemonSets, by uid, each as large as its pods are on new nodes."""
        if self._sized_daemons is None:
            self._sized_daemons = tuple(
                self._daemon_sizes.sized(self.daemons[uid]) for uid in sorted(self.daemons)
            )
        return self._sized_daemons

    def waiting(self, uid: str) -> bool:
        """Return whether a pod waits for a place and has no promise of one."""
        return uid in self._provisionable and self.promises.of(uid) is None

    def limit_left(self, pool: NodePool) -> Resources | None:
        """Return what a pool may still buy of each limited resource; None without limits."""
        if pool.name not in self._limits:
            claims = (c for c in self.claims.values() if c.pool == pool.name and c.name not in self._void)
            self._limits[pool.name] = limits_left(pool, claims)
        return self._limits[pool.name]

    def snapshot(self, now: datetime, leaving: Collection[str] = ()) -> Snapshot:
        """Return all that planning may look at, at this revision, as it were without the views `leaving`.

        These take no pods then, and those on them that must move are to be placed.
        """
        pools = heaviest_first(self.pools.values())
        limits = {p.name: left for p in pools if (left := self.limit_left(p)) is not None}
        existing_nodes, pods = self._existing_nodes_and_pods(now, leaving)
        return Snapshot(
            revision=self.revision,
            taken_at=now,
            pods=pods,
            existing_nodes=existing_nodes,
            pools=pools,
            node_classes=dict(self.node_classes),
            daemons=self.sized_daemons(),
            limits_left=limits,
            in_reservations=in_reservations(c for c in self.claims.values() if c.name not in self._void),
            volumes=self._volumes.needs(pods),
            namespaces={name: self.namespaces[name].labels for name in sorted(self.namespaces)},
        )

    def _existing_nodes_and_pods(
        self, now: datetime, leaving: Collection[str]
    ) -> tuple[tuple[ExistingNode, ...], tuple[Pod, ...]]:
        """Return all rooms, and the pods to be placed: those that wait, and those on nodes that go for good.

        A cordon alone keeps pods off and moves none.
        """
        pods = [self.pods[uid] for uid in self._provisionable if self.promises.of(uid) is None]
        existing_nodes: list[ExistingNode] = []
        self._maker.tidy(self._existing_nodes.values())
        for view in self.views():
            if not self.ending(view) and view.name not in leaving:
                existing_node = self._measured(view)
            else:
                there = self.pods_of(view)
                moving = {p.uid: p for p in there if self._must_move(p, now, doomed=self._doomed(view))}
                pods += (p for p in moving.values() if self.promises.of(p.uid) is None)
                # Who moves is not here any more; who that is depends on the time, so this is not kept.
                existing_node = self._measure(
                    view, tuple(p for p in there if p.uid not in moving), closed=True
                )
            if existing_node is not None:
                existing_nodes.append(existing_node)
        existing_nodes.sort(key=lambda r: (not r.initialized, r.labels.get(labels.NODE_NAME, r.name), r.name))
        return tuple(existing_nodes), tuple(sorted(pods, key=lambda p: (p.created_at, p.uid)))

    def _must_move(self, pod: Pod, now: datetime, *, doomed: bool) -> bool:
        promised = self.promises.of(pod.uid) is not None
        return promised or (pod.reschedulable and (doomed or not pod.protected(now)))

    def _doomed(self, view: NodeView) -> bool:
        """Return whether the pods of a view lose it before long, whatever protects them; claims count too."""
        return view.name in self.doomed or (view.ending and machine_ends_at(view.claim) is not None)

    def loses_its_node(self, pod: Pod) -> bool:
        """Return whether a pod stands on a machine that EC2 takes: its new place is kept until it must go."""
        view = self.view(self.view_name(pod.node_name)) if pod.bound and pod.active else None
        return view is not None and self._doomed(view)
