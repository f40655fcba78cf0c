"""The fake cluster: apply manifests, embed it, read its objects."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from copy import copy
from datetime import datetime
from typing import Literal, TypeVar

from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.clock import MachineClock
from treenail.adapters.fake.cluster.accounts import Accounts
from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.attachments import Attachments
from treenail.adapters.fake.cluster.budget_controller import BudgetController
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.event_log import CONTROLLER, EventLog, EventRecord
from treenail.adapters.fake.cluster.held_back import HeldBack
from treenail.adapters.fake.cluster.kubelets import Kubelets, Machine
from treenail.adapters.fake.cluster.leases import FakeLease, Leases
from treenail.adapters.fake.cluster.node_controller import NodeController
from treenail.adapters.fake.cluster.objects import Change, address, address_of, owners_of, rank
from treenail.adapters.fake.cluster.request_faults import RequestFaults
from treenail.adapters.fake.cluster.settings import ClusterFaults, ClusterSettings
from treenail.adapters.fake.cluster.store import Store
from treenail.adapters.fake.cluster.texts import Texts, Writer
from treenail.adapters.fake.cluster.watch import Watch
from treenail.adapters.fake.cluster.workloads import run_workloads
from treenail.adapters.fake.luck import draw, fork
from treenail.domain.cluster.cluster_facts import ClusterFact, Kind
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Agenda, Ref
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.status.buffer_status import BufferStatus
from treenail.domain.status.pool_usage import PoolUsage

T = TypeVar("T", bound=ApiObject)

_NO_FAULTS = ClusterFaults()


class FakeCluster:
    """A cluster in memory, in virtual time. It is the `ClusterReader` and `ClusterWriter` of an autoscaler.

    The agenda gives the time and calls back; `dice` decides all that is left to chance. Only the calls
    of the two ports meet the `faults`, and the pods that workloads make; they may be set
    anew at any time. All seconds are monotonic ones of the agenda.
    """

    def __init__(
        self,
        *,
        agenda: Agenda,
        dice: random.Random,
        settings: ClusterSettings | None = None,
        faults: ClusterFaults = _NO_FAULTS,
    ) -> None:
        self.faults = faults
        self.settings = settings or ClusterSettings()
        self._clock = MachineClock(agenda)
        self._store = Store(clock=self._clock, dice=fork(dice))
        self._log = EventLog(self._clock)
        plane = ControlPlane(
            agenda=agenda, store=self._store, settings=self.settings, log=self._log, dice=fork(dice)
        )
        self._latency = plane.fork()
        # All clients meet the faults of this very cluster.
        self._faults_now = self._present_faults
        self._requests = RequestFaults(plane, self._faults_now)
        self._texts = Texts()
        self._plane = plane
        self._watch = Watch(plane, self._present_faults, self._texts)
        self._watches = [self._watch]
        self._leases = Leases()
        self._server = ApiServer(self._store)
        accounts = Accounts(self._store)
        self._kubelets = Kubelets(plane, accounts, self._server)
        self._nodes = NodeController(plane, accounts)
        self._refusals = run_workloads(plane, accounts, self._server, self._faults_now)
        self._attachments = Attachments(plane)
        self._budgets = BudgetController(plane, self._server.budgets)
        self.apply(*(self.settings.system_daemons or ()))

    def _present_faults(self) -> ClusterFaults:
        return self.faults

    # --- for users

    def apply(self, *objects: ApiObject) -> None:
        """Create each object, or change the one of its name if its kind allows that.

        Those that others refer to go first, whatever their order. The server gives uids where there are none,
        revisions and times of creation.

        Raises:
            InvalidError: one of them could not be; those before it are applied.
        """
        for thing in sorted(objects, key=rank):
            self._server.apply(thing)

    def restore(self, *objects: ApiObject, unreadable: frozenset[Kind] = frozenset()) -> None:
        """Add objects as they were in a cluster, with their uids, times, status and nodes.

        An owner that is not among them is assumed to exist, so that no object is collected for it. Clients
        hear that they may not see all objects of the kinds `unreadable`.

        Raises:
            AlreadyExistsError: a name is taken.
            InvalidError: an object has a uid that is taken, or would not be found in a cluster.
        """
        self._store.unreadable |= unreadable
        own = {thing.uid for thing in objects}
        owners = (owner.uid for thing in objects for owner in owners_of(thing))
        self._store.know_outside(uid for uid in owners if uid and uid not in own)
        for thing in sorted(objects, key=rank):
            self._server.restore(thing)

    def apply_broken(self, kind: Kind, name: str, about: ObjectRef, problem: str, *, key: str = "") -> None:
        """Put an object there that no client can understand, or break the one of that name for clients.

        It is told of as set aside, until a good one is applied. The cluster goes on with what was there.
        `key` is what clients know it by, where that does not follow from its name.
        """
        where = address(about.kind if kind is Kind.NODE_CLASS else kind, name, about.namespace)
        broken = self._store.set_aside(where, kind, about, problem, key)
        for watch in self._watches:
            watch.set_aside(broken)

    def write_as(self, writer: Writer | None) -> None:
        """Have clients read what `writer` writes, of objects that it writes, as they read an API server.

        The cluster itself goes on with the objects as they are.
        """
        self._texts.writer = writer

    def scale(
        self, name: str, replicas: int, *, namespace: str = "default", kind: str = "Deployment"
    ) -> None:
        """Set the replicas of a Deployment, ReplicaSet or StatefulSet.

        Raises:
            NotFoundError: it is not there; the nearest is named.
            InvalidError: its kind has no replicas, or that is no number of them.
        """
        where = address(kind, name, namespace)
        self._store.check_named(where)
        self._server.scale(where, replicas)

    def delete(
        self,
        kind: str,
        name: str,
        *,
        namespace: str = "default",
        cascade: Literal["background", "foreground"] = "background",
    ) -> None:
        """Delete an object; the objects it owns are deleted after it, or (foreground) before it.

        Raises:
            NotFoundError: it is not there; the nearest name is given.
        """
        where = address(kind, name, namespace)
        self._store.check_named(where)
        broken = self._store.broken.get(where)
        if broken is not None and self._store.find(where) is None:
            self._store.mend(where)
            for watch in self._watches:
                watch.forget(broken)
        else:
            self._server.delete(where, foreground=cascade == "foreground")

    def get(self, kind: str, name: str, *, namespace: str = "default") -> ApiObject:
        """Return an object by any name of its kind.

        Raises:
            NotFoundError: it is not there; the nearest is named.
        """
        where = address(kind, name, namespace)
        self._store.check_named(where)
        return self._store.there(where)

    def objects(self, of: type[T]) -> tuple[T, ...]:
        """Return all objects of a kind by namespace and name: `objects(Deployment)`."""
        return tuple(sorted(self._store.all(of), key=address_of))

    def pods(self) -> tuple[Pod, ...]:
        """Return all pods, by namespace and name."""
        return self.objects(Pod)

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes, by name."""
        return self.objects(Node)

    def claims(self) -> tuple[NodeClaim, ...]:
        """Return all claims, by name."""
        return self.objects(NodeClaim)

    def events(self) -> tuple[EventRecord, ...]:
        """Return all events, in the order they first came."""
        return self._log.records()

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        """Return the conditions of a pool, node class, claim or node; none where it is not there."""
        return self._server.statuses.conditions(about)

    def held_back(self) -> tuple[HeldBack, ...]:
        """Return the workloads that lack pods which are refused, by a quota, say."""
        return tuple(self._refusals.now())

    def usage(self, about: ObjectRef) -> PoolUsage | None:
        """Return what the status of a pool says that its nodes have; None where it says nothing yet."""
        return self._server.statuses.usage(about)

    def buffer_status(self, name: str, *, namespace: str = "default") -> BufferStatus | None:
        """Return what the status of a capacity buffer says; None where it says nothing yet."""
        return self._server.statuses.buffer_status(ObjectRef("CapacityBuffer", name, namespace))

    def annotations(self, about: ObjectRef) -> Mapping[str, str]:
        """Return what a pool or a node class was annotated with."""
        return self._server.statuses.annotations(about)

    def class_generation(self, about: ObjectRef) -> int:
        """Return the generation of the node class that a pool's conditions are about, 0 if unknown."""
        return self._server.statuses.class_generation(about)

    def meaning(self, about: ObjectRef) -> NodeClassMeaning | None:
        """Return what the status of a node class says it means; None where it says nothing yet."""
        return self._server.statuses.meaning(about)

    def on_change(self, callback: Callable[[Change], None]) -> None:
        """Call `callback` with every change of any object from now on, as it is stored."""
        self._store.listen(callback)

    def set_node_condition(self, name: str, condition: Condition) -> None:
        """Let a node's kubelet, or an agent there, say this of it, if it is there."""
        self._nodes.say(name, condition)

    def take_taint(self, name: str, key: str, effect: Effect | None = None) -> None:
        """Remove a node's taints with this key (and effect), as an agent there does, if it is there."""
        self._nodes.take_taint(name, key, effect)

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self._store.revision

    def unavailable_until(self, at: float) -> None:
        """Answer no call of the ports before second `at`, and tell no facts: a full list comes then."""
        self._requests.close(at)
        for watch in self._watches:
            watch.cut_off(at)

    def client(self) -> FakeCluster:
        """Return another client of this cluster, whose watch is its own: for a second controller."""
        other = copy(self)
        other.watch_alone()
        return other

    def partitioned_until(self, at: float) -> None:
        """Let this client alone not reach the API server before second `at`. It has a way of its own then."""
        self._requests = RequestFaults(self._plane, self._faults_now)
        self._requests.close(at)
        self._watch.cut_off(at)

    def lease(self, name: str, *, namespace: str = "kube-system") -> FakeLease:
        """Return the way to a Lease, by whatever way this client reaches the API server at the time."""
        return FakeLease(self._leases, f"{namespace}/{name}", lambda: self._requests, self.claims)

    def watch_alone(self) -> None:
        """Have a watch of its own from now on."""
        self._watch = Watch(self._plane, self._present_faults, self._texts)
        self._watches.append(self._watch)

    def now(self) -> datetime:
        """Return the time of day, as the API server has it."""
        return self._clock.now()

    def step_clock(self, seconds: float) -> None:
        """Set the clocks of the API server and the nodes by so many seconds, back where that is negative."""
        self._clock.step(seconds)

    def latency(self, key: tuple[str, ...]) -> tuple[float, float]:
        """Draw how many seconds a call takes to the API server, and its answer back."""
        del key
        span = self.settings.latency
        return draw(self._latency, span), draw(self._latency, span)

    # --- for machines

    def join(
        self,
        *,
        node_name: str,
        provider_id: str,
        labels: Mapping[str, str],
        taints: tuple[Taint, ...] = (),
        capacity: Resources,
        allocatable: Resources,
        after: float = 0.0,
        ready_after: float | None = None,
    ) -> None:
        """Let a machine's kubelet make its node in `after` seconds, and be ready `ready_after` later.

        The node is not ready at first and tainted so, and with `taints`. Without `ready_after` the settings
        decide. A machine that has left by then does not join.
        """
        machine = Machine(
            node_name=node_name,
            provider_id=provider_id,
            labels=labels,
            taints=taints,
            capacity=capacity,
            allocatable=allocatable,
        )
        self._kubelets.join(machine, after=after, ready_after=ready_after)

    def leave(self, provider_id: str) -> None:
        """Let a machine be gone. Its node is found not ready, then deleted; one unknown does not matter."""
        node = self._kubelets.leave(provider_id)
        if node is not None:
            self._nodes.lose(node)

    # --- ClusterReader

    def feed(self, to: Ref[ClusterFact]) -> None:
        """Send `to` a full list (Resynced), then each change, and a full list now and then.

        Raises:
            RuntimeError: somebody is told already.
        """
        self._watch.feed(to)

    def stop(self) -> None:
        """Send no more facts. `feed` may be called again after it."""
        self._watch.stop()

    def get_claim(self, name: str) -> NodeClaim:
        """Return a claim as it is now.

        Raises:
            InvalidError: it is there, but cannot be understood.
        """
        found = self._texts.known(self._requests.read(self._server.claim, name))
        if found.unread:
            raise InvalidError(f"NodeClaim {name}: {found.unread}")
        return found

    def list_claims(self) -> tuple[NodeClaim, ...]:
        """Return all claims there are now, by name."""
        return tuple(map(self._texts.known, self._requests.read(self._server.claims)))

    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes there are now, by name."""
        return tuple(map(self._texts.known, self._requests.read(self.nodes)))

    def attached_volumes(self, node: str) -> frozenset[str]:
        """Return the persistent volumes attached to a node now."""
        return self._requests.read(self._attachments.at, node)

    # --- ClusterWriter

    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        """Create a claim."""
        return self._texts.known(self._requests.write(None, self._server.create_claim, claim))

    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        """Change a claim and its status."""
        where = address("NodeClaim", name)
        return self._texts.known(self._requests.write(where, self._server.patch_claim, name, patch, version))

    def delete_claim(self, name: str, *, uid: str) -> None:
        """Mark a claim as deleting."""
        self._requests.write(address("NodeClaim", name), self._server.delete_claim, name, uid)

    def create_node(self, node: Node) -> Node:
        """Create a node. It is not ready before a machine of its provider id joins."""
        return self._texts.known(self._requests.write(None, self._server.create_node, node))

    def patch_node(self, name: str, patch: NodePatch, *, seen: Node | None = None) -> Node:
        """Change a node."""
        where = address("Node", name)
        version = seen.resource_version if seen is not None else None
        return self._texts.known(self._requests.write(where, self._server.patch_node, name, patch, version))

    def delete_node(self, name: str, *, uid: str) -> None:
        """Mark a node as deleting."""
        self._requests.write(address("Node", name), self._server.delete_node, name, uid)

    def evict_pod(self, namespace: str, name: str, *, uid: str) -> None:
        """Evict a pod, if the disruption budgets allow it."""
        self._requests.write(address("Pod", name, namespace), self._server.evict_pod, namespace, name, uid)

    def delete_pod(self, namespace: str, name: str, *, uid: str, grace_seconds: int) -> None:
        """Delete a pod without asking any budget."""
        where = address("Pod", name, namespace)
        self._requests.write(where, self._server.delete_pod, namespace, name, uid, grace_seconds)

    def bind_pod(self, namespace: str, name: str, *, uid: str, node: str) -> None:
        """Bind a pod to a node."""
        where = address("Pod", name, namespace)
        self._requests.write(where, self._server.bind_pod, namespace, name, uid, node)

    def publish(self, event: ClusterEvent, count: int = 1) -> None:
        """Keep an event that came so often."""
        self._requests.write(None, self._log.publish, event, CONTROLLER, count)

    def set_conditions(
        self,
        about: ObjectRef,
        conditions: tuple[Condition, ...],
        meaning: NodeClassMeaning | None = None,
        *,
        class_generation: int = 0,
    ) -> None:
        """Set conditions of a pool or a node class."""
        show = self._server.statuses.set_conditions
        self._requests.write(None, show, about, conditions, meaning, class_generation)

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Annotate a pool or a node class."""
        self._requests.write(None, self._server.statuses.annotate, about, annotations)

    def set_usage(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set what the nodes of a pool have together."""
        self._requests.write(None, self._server.statuses.set_usage, about, usage)

    def set_buffer_status(self, status: BufferStatus) -> None:
        """Set what was found for a capacity buffer."""
        self._requests.write(None, self._server.statuses.set_buffer_status, status)

    def hold_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Keep a node class from going."""
        self._requests.write(None, self._server.statuses.hold, about, finalizer)

    def release_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Let a node class go."""
        self._requests.write(None, self._server.statuses.release, about, finalizer)
