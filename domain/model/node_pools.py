"""Node pools: what may be bought, in what order, how much, and when it is given back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet, NodeClassRef
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.requirements import ANYTHING, Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint


class Generation(StrEnum):
    """The API generation an object was written in; it decides the kind of the claims a pool makes."""

    V1ALPHA5 = "v1alpha5"
    V1BETA1 = "v1beta1"
    V1 = "v1"

    @property
    def pool_kind(self) -> str:
        """The kind of the pools of this generation."""
        return "Provisioner" if self is Generation.V1ALPHA5 else "NodePool"

    @property
    def claim_kind(self) -> str:
        """The kind of the claims that such pools make."""
        return "Machine" if self is Generation.V1ALPHA5 else "NodeClaim"

    @property
    def pool_label(self) -> str:
        """The label by which nodes name such a pool."""
        return labels.PROVISIONER if self is Generation.V1ALPHA5 else labels.NODEPOOL


@dataclass(frozen=True, slots=True, order=True)
class Budget:
    """The number of nodes that may be disrupted at a time: a number, or a percentage rounded up.

    `reasons` empty means every reason. `schedule` (cron, UTC) and `duration` bound it in time.
    """

    nodes: int | None = None
    percent: int | None = None
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    duration: timedelta | None = None


class ConsolidationPolicy(StrEnum):
    """The nodes of a pool that may be consolidated, as Karpenter names them."""

    WHEN_EMPTY = "WhenEmpty"
    WHEN_EMPTY_OR_UNDERUTILIZED = "WhenEmptyOrUnderutilized"
    BALANCED = "Balanced"

    @property
    def written(self) -> str:
        """The policy as labels of metrics have it: when_empty."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """The rules by which nodes are given back. None means never.

    `consolidate_after` is how long no pod may have come to a node, or left it, before it is consolidated:
    given back empty, or, as `policy` says, because its pods have places elsewhere. `expire_after` is how
    long a node may live.
    """

    policy: ConsolidationPolicy = ConsolidationPolicy.WHEN_EMPTY
    consolidate_after: timedelta | None = None
    expire_after: timedelta | None = None
    budgets: tuple[Budget, ...] = ()

    @property
    def moves_pods(self) -> bool:
        """True if nodes are also given back that are not empty, once their pods have places elsewhere."""
        return self.consolidate_after is not None and self.policy is not ConsolidationPolicy.WHEN_EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """A NodePool, or the Provisioner of the old API. `weight` is 0 where it is unset; larger goes first.

    `limits` is what all nodes of the pool together may have, None where there is none; the resource
    `nodes` counts nodes. `requirements` are the template's own; `template_requirements` adds its labels.
    `node_overhead_cost` ($/h) is what each node costs beside its price and its volumes, None where the pool
    does not say. `payback` is the time within which a consolidation must have saved what it costs,
    None where the pool does not say. `return_premium` is the share by which it may cost more to replace its
    nodes with those of a pool of higher weight, None where that is not done. One that is
    `for_pods_only` buys nothing for pods that are still to be made. One that is `static` is to have as many
    nodes as its `replicas`, whatever pods wait; others have `min_nodes` at least. What a claim of no pool is
    launched from has no name. `overlays` are those of the cluster, which it buys by: no manifest of a pool
    says anything of them.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    generation: Generation = Generation.V1
    weight: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: Requirements = ANYTHING
    node_class: NodeClassRef
    kubelet: Kubelet | None = None
    limits: Resources | None = None
    disruption: Disruption = Disruption()
    termination_grace_period: timedelta | None = None
    node_overhead_cost: float | None = None
    payback: timedelta | None = None
    return_premium: float | None = None
    for_pods_only: bool = False
    deleting: bool = False
    replicas: int | None = None
    min_nodes: int = 0
    overlays: tuple[NodeOverlay, ...] = ()
    # Fields the manifest sets that are accepted though not acted on, by path, for the warning.
    not_acted_on: tuple[str, ...] = ()

    @property
    def static(self) -> bool:
        """True if it is to have a number of nodes, and gets none for pods."""
        return self.replicas is not None

    def overhead_cost(self, otherwise: float) -> float:
        """Return what a node costs beside price and volumes, $/h: `otherwise` if the pool says nothing."""
        return otherwise if self.node_overhead_cost is None else self.node_overhead_cost

    @property
    def node_labels(self) -> Mapping[str, str]:
        """The labels every node of the pool has for sure. Those of no pool have none by that."""
        if not self.name:
            return self.labels
        known = {**self.labels, self.generation.pool_label: self.name}
        if self.generation is not Generation.V1ALPHA5:
            ref = self.node_class
            known[f"{ref.group}/{ref.kind.lower()}"] = ref.name
        return known

    def template_requirements(self) -> Requirements:
        """Return what is known of the labels of a node of this pool before its type is chosen."""
        return self.requirements.with_(
            Requirement(key, frozenset((value,))) for key, value in self.node_labels.items()
        )


def heaviest_first(pools: Iterable[NodePool]) -> tuple[NodePool, ...]:
    """Return pools in the order they are tried: by weight, and as in Karpenter the last name first."""
    by_name = sorted(pools, key=lambda pool: pool.name, reverse=True)
    return tuple(sorted(by_name, key=lambda pool: -pool.weight))
