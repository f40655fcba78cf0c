"""Ports: the protocols through which actors reach the API server, EC2, queues, the solver and telemetry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, TypeAlias

from treenail.domain.cluster.cluster_facts import ClusterFact
from treenail.domain.interruption.impairments import Impairments
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.leadership.lease import Lease
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassMeaning, NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Ref
from treenail.domain.model.zonal_shifts import ZonalShift
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem
from treenail.domain.status.buffer_status import BufferStatus
from treenail.domain.status.pool_usage import PoolUsage
from treenail.domain.telemetry.series import Gauges
from treenail.domain.telemetry.tracing import Span

# What the volumes of a node of a class cost, $/h. At once, without fail.
VolumeCost: TypeAlias = Callable[[NodeClass], float]


class ClusterReader(Protocol):
    """The API server, for reading."""

    @abstractmethod
    def feed(self, to: Ref[ClusterFact]) -> None:
        """From now on tell `to` every fact: first one `Resynced` with all there is, then each change.

        Facts of one object come in order, though some may come twice, late or only by a resync.
        """

    @abstractmethod
    def stop(self) -> None:
        """Publish no more facts."""

    @abstractmethod
    def get_claim(self, name: str) -> NodeClaim:
        """Return a claim as it is now (read from the store, not from a cache).

        Raises:
            NotFoundError: there is none of this name.
            UnavailableError: no answer.
        """
        ...

    @abstractmethod
    def list_claims(self) -> tuple[NodeClaim, ...]:
        """Return all claims there are now (read from the store, not from a cache).

        Of one that cannot be understood there may be no more than its metadata and its provider id.

        Raises:
            UnavailableError: no answer.
        """
        ...

    @abstractmethod
    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes there are now (read from the store, not from a cache).

        Raises:
            UnavailableError: no answer.
        """
        ...

    @abstractmethod
    def attached_volumes(self, node: str) -> frozenset[str]:
        """Return the names of the persistent volumes that are attached to a node now.

        None are told where we may not see them.

        Raises:
            UnavailableError: no answer.
        """
        ...


class ClusterWriter(Protocol):
    """The API server, for writing. Every call may raise UnavailableError; `version` is a precondition.

    Raises beside what is named: NotFoundError where the object is gone, ConflictError where its
    resourceVersion or uid is another.
    """

    @abstractmethod
    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        """Create `claim`; its uid and times are given by the server.

        Raises:
            AlreadyExistsError: a claim of this name is there: by our naming, this very one.
            InvalidError: it breaks a rule of its schema.
        """
        ...

    @abstractmethod
    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        """Change a claim and its status, and return what it is then."""
        ...

    @abstractmethod
    def delete_claim(self, name: str, *, uid: str) -> None:
        """Mark a claim as deleting; it goes when its last finalizer does."""

    @abstractmethod
    def create_node(self, node: Node) -> Node:
        """Create `node`, with its capacity and allocatable; its uid and times are given by the server.

        Raises:
            AlreadyExistsError: a node of this name is there.
            InvalidError: it breaks a rule of the API server.
        """
        ...

    @abstractmethod
    def patch_node(self, name: str, patch: NodePatch, *, seen: Node | None = None) -> Node:
        """Change a node, and return what it is then; with `seen`, only while it is as it was seen."""
        ...

    @abstractmethod
    def delete_node(self, name: str, *, uid: str) -> None:
        """Mark a node as deleting; it goes when its last finalizer does."""

    @abstractmethod
    def evict_pod(self, namespace: str, name: str, *, uid: str) -> None:
        """Evict a pod through the eviction API.

        Raises:
            TooManyRequestsError: a disruption budget forbids it now.
        """

    @abstractmethod
    def delete_pod(self, namespace: str, name: str, *, uid: str, grace_seconds: int) -> None:
        """Delete a pod without asking any budget."""

    @abstractmethod
    def bind_pod(self, namespace: str, name: str, *, uid: str, node: str) -> None:
        """Bind a pod to a node; ConflictError where the scheduler was first."""

    @abstractmethod
    def publish(self, event: ClusterEvent, count: int = 1) -> None:
        """Publish an event beside the object it is about; it came so often since it was published last.

        Raises:
            TooManyRequestsError: too many are published. What was not published is not kept.
        """

    @abstractmethod
    def set_conditions(
        self,
        about: ObjectRef,
        conditions: tuple[Condition, ...],
        meaning: NodeClassMeaning | None = None,
        *,
        class_generation: int = 0,
    ) -> None:
        """Set status conditions of a pool or a node class, each in place of the one of its type.

        With `meaning`, set too what the status of a node class says it means; with `class_generation`, of
        which generation of its node class the conditions of a NodePool tell: in the same request. Nothing is
        written where all of it is there already.

        Raises:
            InvalidError: objects of this kind show none, or this one breaks a rule of its schema.
        """

    @abstractmethod
    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        """Give a pool or a node class `annotations` beside those it has, or in their place.

        Nothing is written where they are there already.

        Raises:
            InvalidError: objects of this kind are not annotated by us, or this one is not to be written.
        """

    @abstractmethod
    def set_usage(self, about: ObjectRef, usage: PoolUsage) -> None:
        """Set in a pool's status how many nodes it has and what they have together.

        Nothing is written where that is there already.

        Raises:
            InvalidError: objects of this kind show none, or this one breaks a rule of its schema.
        """

    @abstractmethod
    def set_buffer_status(self, status: BufferStatus) -> None:
        """Set in the status of a capacity buffer what was found for it; conditions of other types stay.

        Nothing is written where that is there already.

        Raises:
            InvalidError: it breaks a rule of its schema.
        """

    @abstractmethod
    def hold_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Keep a node class from going before `release_node_class`, unless it is going already.

        Raises:
            InvalidError: objects of this kind are not held.
        """

    @abstractmethod
    def release_node_class(self, about: ObjectRef, finalizer: str) -> None:
        """Remove `finalizer` from a node class, if it has it.

        Raises:
            InvalidError: objects of this kind are not held.
        """


class Cloud(Protocol):
    """The cloud, which instances come from. Every call may raise UnavailableError or TooManyRequestsError."""

    @abstractmethod
    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return all types that `node_class` could launch, sorted by name, with offerings and prices.

        Raises:
            NodeClassNotReadyError: its subnets, security groups or images are not to be found.
        """
        ...

    @abstractmethod
    def learn(self, observation: CapacityObserved) -> bool:
        """Take in how much a node turned out to have.

        Catalogues asked for from now on say of its type the least memory that was seen, in place of any
        estimate; and of room for pods no more than nodes of the same node class and kubelet had. Return
        whether that is news: no node of this kind was seen before, or what is known of it has changed. At
        once, without fail.
        """
        ...

    @abstractmethod
    def launch(self, request: FleetRequest) -> FleetAnswer:
        """Buy `request.count` instances at once, or fewer.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            NodeClassNotReadyError: the node class cannot be launched from.
        """
        ...

    @abstractmethod
    def launched_by(self, token: str) -> tuple[Instance, ...]:
        """Return the instances bought under `token`, with `node_name`, as far as they are visible yet."""
        ...

    @abstractmethod
    def instances(self) -> tuple[Instance, ...]:
        """Return all instances of this cluster, terminated ones left out."""
        ...

    @abstractmethod
    def impairments(self) -> Impairments:
        """Return which instances of this cluster are unwell, or what is planned with them.

        What could be looked up is returned though the rest could not; where nothing could, it raises.
        """
        ...

    @abstractmethod
    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Terminate instances; those that are gone already do not matter.

        `purpose` says whose turn it is, where not all who ask can be served at once.
        """

    @abstractmethod
    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Give an instance `tags` beside those it has, or in their place. Nobody waits for it.

        Raises:
            NotFoundError: there is no such instance, or it is not to be seen yet.
            InvalidError: they cannot be given: they would be too many, or it is not allowed.
        """

    @abstractmethod
    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        """Return what a node class means now; an instance profile it wants is made where it is not there.

        Where it could be launched from, it is tried whether that may be done for one of its `pools`.
        What fails to be looked up is told by the conditions and not raised.
        """
        ...

    @abstractmethod
    def release(self, node_class: NodeClass) -> None:
        """Take away what was made for a node class that no claim uses any more: profiles, templates.

        What is gone already does not matter.
        """

    @abstractmethod
    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Delete this cluster's instance profiles that nobody needs, and return their names, sorted.

        Left alone are those of `node_classes` and of instances, and those made or needed in the last hour.
        """
        ...


class ZonalShifts(Protocol):
    """The source of which zones the cluster is shifted away from."""

    def zonal_shifts(self) -> tuple[ZonalShift, ...]:
        """Return all known shifts, sorted; some may have expired.

        Raises:
            PortError: they cannot be read.
        """
        ...


class InterruptionQueue(Protocol):
    """The queue where EC2's warnings arrive. Calls may raise UnavailableError."""

    @abstractmethod
    def feed(self, to: Ref[QueueMessage]) -> None:
        """From now on tell `to` every message received. One not deleted comes again."""

    @abstractmethod
    def stop(self) -> None:
        """Receive no more."""

    @abstractmethod
    def delete(self, receipts: tuple[str, ...]) -> None:
        """Delete messages that were dealt with."""


class Solver(Protocol):
    """The solver of packing problems: in a process of its own, so that a long solve delays nothing else."""

    @abstractmethod
    def solve(self, problem: Problem) -> PackingPlan:
        """Return the plan for `problem`.

        Raises:
            UnavailableError: the solver was lost, or the problem given up; nothing was decided.
        """
        ...

    @abstractmethod
    def consolidate(self, problem: ConsolidationProblem) -> ConsolidationPlan:
        """Return which nodes of a cluster may go, and where their pods go.

        Raises:
            UnavailableError: the solver was lost, or the problem given up; nothing was decided.
        """
        ...

    @abstractmethod
    def cancel(self, problem: Problem | ConsolidationProblem) -> None:
        """Give up a problem that is being solved, or is to be: for work that comes first."""


class LeaseStore(Protocol):
    """The store of one Lease. Calls may raise UnavailableError; they take some seconds at most."""

    def read(self) -> Lease | None:
        """Return the lease as it is now; None where there is none."""
        ...

    def has_claims(self) -> bool:
        """Return whether the cluster has NodeClaims or Machines, or may have: somebody has led there."""
        ...

    def write(self, lease: Lease, *, over: Lease | None) -> Lease:
        """Write `lease` in place of `over`, or where there is none yet; return it as it is then.

        Raises:
            ConflictError, AlreadyExistsError: another was faster.
            NotFoundError: `over` is gone, or there is no such namespace.
        """
        ...


class Telemetry(Protocol):
    """The outlet of spans, metrics and log lines. Nothing here ever blocks, but `flush`; nothing raises."""

    def record(self, span: Span) -> None:
        """Pass a finished span on."""

    def flush(self, seconds: float) -> bool:
        """Wait until the spans recorded are passed on, at most `seconds`; False where that was not enough."""
        ...

    def count(self, metric: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter declared in `domain.telemetry.metrics`."""

    def observe(self, metric: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram or a summary declared in `domain.telemetry.metrics`."""

    def gauge(self, metric: str, value: float, /, **labels: str) -> None:
        """Set a gauge declared in `domain.telemetry.metrics`."""

    def show(self, about: str, gauges: Gauges | None, /) -> None:
        """Show from now on the series about a thing that `gauges` returns, in place of those before.

        It is called when somebody asks for them, on another thread, and its values are kept: it may read
        nothing that changes. With None, no series are shown any more.
        """

    def log(self, message: str, /, **fields: object) -> None:
        """Write a log line for people. `logger` and `level` are fields too."""
