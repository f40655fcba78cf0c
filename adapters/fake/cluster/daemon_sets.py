"""The controller of DaemonSets, and the DaemonSets every EKS cluster has."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount
from treenail.adapters.fake.cluster.census import Census
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.event_log import SCHEDULER
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import Change, address_of
from treenail.adapters.fake.cluster.offspring import Offspring, suffix
from treenail.adapters.fake.cluster.placement import needs_of, not_simulated, room_misfit, shape_misfit
from treenail.adapters.fake.cluster.topology import NO_NEEDS, Topology, topology_needs
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Expression, NodeAffinity, Owner, Pod, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Toleration, TolerationOperator

_NAME: Final = "app.kubernetes.io/name"
_REVISION: Final = "controller-revision-hash"
_EVERYTHING: Final = Toleration(operator=TolerationOperator.EXISTS)
# What the controller lets every daemon put up with.
_GIVEN: Final = tuple(
    Toleration(f"node.kubernetes.io/{key}", TolerationOperator.EXISTS, effect=effect)
    for key, effect in (
        ("not-ready", Effect.NO_EXECUTE),
        ("unreachable", Effect.NO_EXECUTE),
        ("disk-pressure", Effect.NO_SCHEDULE),
        ("memory-pressure", Effect.NO_SCHEDULE),
        ("pid-pressure", Effect.NO_SCHEDULE),
        ("unschedulable", Effect.NO_SCHEDULE),
    )
)


def _system(name: str, **requests: str) -> DaemonSet:
    spec = PodSpec(
        requests=Resources.parse({**requests, "pods": 1}),
        tolerations=(_EVERYTHING,),
        priority_class="system-node-critical",
    )
    return DaemonSet(uid="", name=name, namespace="kube-system", template_labels={_NAME: name}, spec=spec)


EKS_DAEMONS: Final = (
    _system("aws-node", cpu="50m"),
    _system("kube-proxy", cpu="100m"),
    _system("ebs-csi-node", cpu="5m", memory="120Mi"),
    _system("eks-pod-identity-agent"),
)


class DaemonSetController:
    """Keeps a pod of each DaemonSet on every node it fits."""

    def __init__(
        self,
        plane: ControlPlane,
        accounts: Accounts,
        offspring: Offspring,
        maker: PodMaker,
        census: Census,
    ) -> None:
        self._plane = plane
        self._store = plane.store
        self._accounts = accounts
        self._offspring = offspring
        self._maker = maker
        self._census = census
        self._dice = plane.fork()
        self._daemons: dict[str, _Daemon] = {}
        # On each node the pod of each DaemonSet, by uids; the other way round; and those without room yet.
        self._pods_of: dict[str, dict[str, str]] = {}
        self._node_of: dict[str, str] = {}
        self._waiting: dict[str, None] = {}
        self._queue = DelayedWork[str](plane, plane.settings.control, self._sync)
        plane.store.listen(self._set_changed, "DaemonSet")
        plane.store.listen(self._node_changed, "Node")
        offspring.listen("DaemonSet", self._pod_changed)
        accounts.improved.append(self._node_improved)
        census.changed.append(self._pods_moved)

    # --- what happens

    def _set_changed(self, change: Change) -> None:
        thing = change.after
        if not isinstance(thing, DaemonSet):
            if change.before is not None:
                self._daemons.pop(change.before.uid, None)
            return
        known = self._daemons.get(thing.uid)
        if known is None or known.written != _template(thing):
            made = _Daemon(thing, suffix(self._dice, 10), self._census, first=known is None)
            self._daemons[thing.uid] = made
            for account in self._accounts.present():
                self._queue.add(account.name)

    def _node_changed(self, change: Change) -> None:
        before, node, name = change.before, change.after, change.address[1]
        if not isinstance(node, Node):
            self._forget(name)
        elif before is None:
            # At once: no other pod may take the room of daemons on a new node.
            self._queue.add(name, after=0.0)
        elif isinstance(before, Node) and (before.labels, before.taints) != (node.labels, node.taints):
            self._queue.add(name)

    def _pod_changed(self, owner: str, pod: Pod) -> None:
        node = self._node_of.get(pod.uid)
        if node is None:
            return
        if not self._store.knows(pod.uid):
            del self._node_of[pod.uid]
            del self._pods_of[node][owner]
            self._waiting.pop(pod.uid, None)
        self._queue.add(node, after=self._maker.retry_after if pod.terminal else None)

    def _node_improved(self, account: NodeAccount) -> None:
        pods_there = self._pods_of.get(account.name)
        if pods_there and any(uid in self._waiting for uid in pods_there.values()):
            self._queue.add(account.name)

    def _pods_moved(self) -> None:
        for uid in self._waiting:
            self._queue.add(self._node_of[uid])

    def _forget(self, name: str) -> None:
        for uid in self._pods_of.pop(name, {}).values():
            del self._node_of[uid]
            pod = self._store.by_uid(uid)
            if uid in self._waiting and isinstance(pod, Pod):
                self._store.remove(address_of(pod))
            self._waiting.pop(uid, None)

    # --- what is done

    def _sync(self, name: str) -> None:
        account = self._accounts.by_name.get(name)
        if account is None or account.node is None:
            return
        pods_there = self._pods_of.setdefault(name, {})
        for daemon in tuple(self._daemons.values()):
            pod = self._store.by_uid(pods_there.get(daemon.uid) or self._adopt(daemon, account))
            if not isinstance(pod, Pod):
                self._make(daemon, account)
            elif pod.deleting_since is None:
                self._keep(daemon, account, pod)

    def _adopt(self, daemon: _Daemon, account: NodeAccount) -> str:
        """Take a pod that is on the node already, from before this node or by hand; return its uid or ""."""
        for pod in account.pods.values():
            if pod.owner is not None and pod.owner.uid == daemon.uid and pod.active:
                self._pods_of[account.name][daemon.uid] = pod.uid
                self._node_of[pod.uid] = account.name
                daemon.take(pod)
                return pod.uid
        return ""

    def _make(self, daemon: _Daemon, account: NodeAccount) -> None:
        owner = self._store.by_uid(daemon.uid)
        if owner is None or self._store.deleting(owner) or not daemon.comes_to(account):
            return
        hindrance = daemon.hindrance(account)
        pod = self._maker.make(
            f"{daemon.name}-{suffix(self._dice, 5)}",
            daemon.namespace,
            daemon.template,
            daemon.owner,
            node="" if hindrance else account.name,
        )
        if pod is None:
            self._queue.retry(account.name)
            return
        self._queue.succeed(account.name)
        self._pods_of[account.name][daemon.uid] = pod.uid
        self._node_of[pod.uid] = account.name
        if hindrance:
            self._waiting[pod.uid] = None
            why = f"on its node {account.name}: {hindrance}"
            self._plane.warn(pod, "FailedScheduling", why, source=SCHEDULER)
            self._store.put(replace(pod, unschedulable_since=self._store.now()))

    def _keep(self, daemon: _Daemon, account: NodeAccount, pod: Pod) -> None:
        if pod.terminal or not daemon.made(pod) or not daemon.stays_on(account):
            pods.delete(self._store, pod, pod.spec.grace_seconds)
        elif pod.uid in self._waiting and daemon.comes_to(account) and not daemon.hindrance(account):
            del self._waiting[pod.uid]
            pods.bind(self._store, pod, account.name)


class _Daemon:
    """A DaemonSet as its controller sees it."""

    def __init__(self, daemon_set: DaemonSet, revision: str, census: Census, *, first: bool) -> None:
        self.uid = daemon_set.uid
        self.name = daemon_set.name
        self.namespace = daemon_set.namespace
        self.written = _template(daemon_set)
        # Pods older than the first template seen count as made from it.
        self._first = first
        self._revisions = {revision: None}
        self.spec = replace(daemon_set.spec, tolerations=(*daemon_set.spec.tolerations, *_GIVEN))
        self._needs = needs_of(self.spec)
        self._not_simulated = not_simulated(self.spec) or ("volumes" if self.spec.volumes else "")
        self.owner = Owner("DaemonSet", self.name, self.uid, "apps/v1", block_deletion=True)
        own = {**self.written.labels, _REVISION: revision}
        self.template = replace(self.written, labels=own, spec=self.spec)
        self._alternatives = self.spec.alternatives()
        self._census = census
        # Held on to, so that what it counts goes on being counted.
        self._topology = Topology(NO_NEEDS, census), NO_NEEDS

    def take(self, pod: Pod) -> None:
        """Take in a pod that was there before."""
        if self._first:
            self._revisions[pod.labels.get(_REVISION, "")] = None

    def made(self, pod: Pod) -> bool:
        """Return whether a pod is of this template."""
        return pod.labels.get(_REVISION, "") in self._revisions

    def comes_to(self, account: NodeAccount) -> bool:
        """Return whether a new pod may come to a node."""
        return not shape_misfit(self.spec, self._alternatives, account)

    def hindrance(self, account: NodeAccount) -> str:
        """Return why a pod that may come cannot be bound yet, "" where it can."""
        if self._not_simulated:
            return f"pods with {self._not_simulated} are not simulated by this scheduler"
        return room_misfit(self.spec, self._needs, account) or self._topology_on(account).misfit(account)

    def _topology_on(self, account: NodeAccount) -> Topology:
        """Return what its pod on a node asks of where others are: a spread looks at that node alone."""
        spec = _pinned(self.spec, account.name) if self.spec.spread else self.spec
        needs = topology_needs(spec, self.namespace, self.template.labels, self._census)
        if self._topology[1] != needs:
            self._topology = Topology(needs, self._census), needs
        return self._topology[0]

    def stays_on(self, account: NodeAccount) -> bool:
        """Return whether the node's labels still let a pod be there; taints do not count."""
        return any(account.described.compatible(wanted) for wanted in self._alternatives)


def _template(of: DaemonSet) -> PodTemplate:
    return PodTemplate(labels=of.template_labels, annotations=of.template_annotations, spec=of.spec)


def _pinned(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a daemon's pod, which the controller lets go to no other node."""
    this = Expression(labels.NODE_NAME, Operator.IN, (node,))
    terms = tuple((*term, this) for term in spec.node_affinity.required or ((),))
    return replace(spec, node_affinity=NodeAffinity(required=terms))
