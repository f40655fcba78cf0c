"""Messages of one decision's planning, from the snapshot to the commitment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.expected_pods import HeldBack, is_to_come
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.gpu_models import GpuModel
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources
from treenail.domain.packing.consolidation.consolidation_plan import StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.pods.counted_devices import asking_for_devices, having_devices
from treenail.domain.packing.pods.default_spread import with_default_spread
from treenail.domain.packing.problem import ExistingNode, PackingSettings, PoolOffer, Problem, VolumeNeeds
from treenail.domain.packing.refusal_reasons import Refusal
from treenail.domain.telemetry.delays import Delay


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The cluster at one revision, for planning.

    `pods` are the pods to be placed: provisionable ones, and those on nodes that leave, less all that have a
    promise. `existing_nodes` are all nodes, and all claims with pods promised to them; nodes that take no
    pods are not open. `limits_left` has an entry for each pool with limits. Claims that are not launched
    count in it as the largest type that they may become; `limits_at_most` is what may be left once they are,
    of pools that have some. `volumes` has the needs of the volumes of `pods`, by uid; `namespaces` the labels
    of namespaces, by name. `in_reservations` has, by the id of a capacity reservation, when each claim in it
    was launched, None where it is still to be. `device_models` has, by kind of devices that pods ask for, the
    models of GPUs of that kind. `held_back` are pods that workloads are to make and quotas have no room for.
    """

    revision: int
    taken_at: datetime
    pods: tuple[Pod, ...]
    existing_nodes: tuple[ExistingNode, ...]
    pools: tuple[NodePool, ...]
    node_classes: Mapping[str, NodeClass]
    daemons: tuple[DaemonSet, ...]
    limits_left: Mapping[str, Resources]
    volumes: Mapping[str, VolumeNeeds] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    in_reservations: Mapping[str, tuple[datetime | None, ...]] = field(default_factory=dict)
    device_models: Mapping[str, frozenset[GpuModel]] = field(default_factory=dict)
    limits_at_most: Mapping[str, Resources] = field(default_factory=dict)
    held_back: tuple[HeldBack, ...] = ()

    def problem(
        self,
        offers: tuple[PoolOffer, ...],
        settings: PackingSettings,
        *,
        ordinary_offers: tuple[PoolOffer, ...] = (),
    ) -> Problem:
        """Return the packing problem that the snapshot is, with what pools offer.

        And with what they ordinarily offer, where some of it has run out.
        """
        pods = asking_for_devices(self.pods, self.volumes)
        to_come = frozenset(pod.uid for pod in pods if is_to_come(pod))
        return Problem(
            pods=with_default_spread(pods, settings.default_spread),
            existing_nodes=self.existing_nodes,
            offers=having_devices(offers, self.device_models),
            daemons=tuple(daemons.spec for daemons in self.daemons),
            volumes=self.volumes,
            namespaces=self.namespaces,
            settings=settings,
            to_come=to_come,
            ordinary_offers=having_devices(ordinary_offers, self.device_models) if to_come else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """The consolidation pass of a snapshot: the candidates, and the terms on which they may go.

    The first four fields are those of `ConsolidationProblem`. `staying` are the nodes that are no candidates,
    with the reason; `events` has, by node, the reason of the event to publish about it, and `about` the
    objects that the event is about.

    `state` identifies everything the pass looks at: an equal state gives an equal plan. Without changes in
    the cluster, `state`, the candidates and the staying nodes hold until `same_until` (None: for good). With
    `urgent_only`, only a decision on pods that lose their machine ends the search for moves. With `whole`,
    budgets do not limit the search.
    """

    candidates: tuple[CandidateNode, ...]
    terms: Mapping[str, PoolTerms] = field(default_factory=dict)
    not_receiving: frozenset[str] = frozenset()
    spot_to_spot: bool = False
    staying: tuple[StayingNode, ...] = ()
    events: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, tuple[ObjectRef, ...]] = field(default_factory=dict)
    state: object = None
    same_until: datetime | None = None
    urgent_only: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTaken:
    """A decision may be made, on this snapshot; or, with a `consolidation`, a search for moves."""

    decision: Decision
    snapshot: Snapshot
    consolidation: Consolidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRequested:
    """The pools that may buy, heaviest first, and why the others may not; what delayed finding that out.

    `ordinary_offers` are the offers as they would be had no capacity run out, and were all claims launched;
    none where they are the same. `unanswered` are pools of which EC2 did not answer what they sell.
    """

    decision: Decision
    snapshot: Snapshot
    offers: tuple[PoolOffer, ...]
    not_ready: tuple[Refusal, ...]
    selected_at: datetime
    consolidation: Consolidation | None = None
    delays: tuple[Delay, ...] = ()
    ordinary_offers: tuple[PoolOffer, ...] = ()
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDecided:
    """A plan for where the pods of a snapshot should go. Nothing is done yet. Refusals name every pool.

    Of a consolidation move, `removed` are the nodes that go, `saves` is what the cluster costs less by it,
    $/h, `costs` what making it does, $ once. It holds once the decisions `after` are made. A return to the
    pools `back_to`, of higher weight, may cost `premium` ($/h) more than planned. `not_ready` are the pools
    that may not buy, `unanswered` those of which EC2 did not answer what they sell, and `delays` what delayed
    finding out what the others can; a plan that was not made is empty, and `failure` says why.
    """

    decision: Decision
    snapshot: Snapshot
    plan: PackingPlan
    considered: tuple[str, ...]
    selected_at: datetime
    packed_at: datetime
    removed: tuple[str, ...] = ()
    saves: float = 0.0
    costs: float = 0.0
    after: tuple[str, ...] = ()
    back_to: tuple[str, ...] = ()
    premium: float = 0.0
    not_ready: tuple[Refusal, ...] = ()
    unanswered: tuple[str, ...] = ()
    delays: tuple[Delay, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCommitted:
    """A plan, as far as it still held, has become promises and may be carried out.

    `claims` are to be written and launched; `nominations` are (pod, target); `refused` are (pod, the
    class it was refused with). `places` are all pods that have one, each with what people know it by, as
    "nodeclaim/default-0, node/ip-10-0-0-4".
    """

    decision: Decision
    claims: tuple[NodeClaim, ...]
    nominations: tuple[tuple[Pod, str], ...] = ()
    refused: tuple[tuple[Pod, RefusedClass], ...] = ()
    places: tuple[tuple[Pod, str], ...] = ()
    node_classes: Mapping[str, NodeClass] = field(default_factory=dict)
    pools: Mapping[str, NodePool] = field(default_factory=dict)
