"""A rehearsal in which our consolidation, Karpenter's rule, or nobody consolidates nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from tests.scenarios.manifests import Manifest, node_pool
from tests.simulation.consolidation.karpenters_rule import KarpentersRule
from tests.simulation.consolidation.move_watch import MoveWatch, hourly_price
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.packing.consolidation.worth import PAYBACK

SIZES: Final = ("large", "xlarge", *(f"{n}xlarge" for n in (2, 3, 4, 6, 8, 9, 12, 16, 18, 24)))
ALL: Final = [{"nodes": "100%"}]


class Side(StrEnum):
    """Who consolidates."""

    OURS = "ours"
    KARPENTERS = "Karpenter's rule"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a side is rehearsed. `simulation_seconds` is what one simulation takes Karpenter's rule.

    With `fill_nodes` the scheduler prefers full nodes, in place of empty ones.
    """

    seed: int = 1
    spot_to_spot: bool = False
    simulation_seconds: float = 0.0
    strict: bool = True
    payback: timedelta | None = PAYBACK
    fill_nodes: bool = False
    cluster_faults: ClusterFaults = field(default_factory=ClusterFaults)
    ec2_faults: EC2Faults = field(default_factory=EC2Faults)


class Rehearsed:
    """A rehearsal of one side, watched."""

    def __init__(self, side: Side, terms: Terms | None = None) -> None:
        terms = terms or Terms()
        self.side = side
        self.rehearsal = Rehearsal(
            seed=terms.seed,
            conditions=Conditions(
                system=_system(side, terms),
                cluster=ClusterSettings(system_daemons=EKS_DAEMONS, fill_nodes=terms.fill_nodes),
                cluster_faults=terms.cluster_faults,
                ec2_faults=terms.ec2_faults,
            ),
        )
        # What the others do wrong is for their figures to tell.
        self.watch = MoveWatch(self.rehearsal, strict=terms.strict and side is Side.OURS)
        self.rule: KarpentersRule | None = None
        if side is Side.KARPENTERS:
            self.rule = KarpentersRule(
                self.rehearsal,
                spot_to_spot=terms.spot_to_spot,
                simulation_seconds=terms.simulation_seconds,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.rehearsal.__exit__(kind, error, traceback)

    @property
    def price(self) -> float:
        """What all there is costs now, $/h."""
        return hourly_price(self.rehearsal)

    @property
    def moved(self) -> int:
        """How many nodes were given up at will, less empty ones."""
        return sum(count for cause, count in self.watch.moves.items() if cause != "empty")

    def run_until_all_run(self, pods: int, within: str = "15m") -> None:
        self.rehearsal.run_until(lambda: self.rehearsal.running() == pods, within=within)

    def types(self, families: Collection[str]) -> tuple[str, ...]:
        """Return the instance types of these families that are no bare metal."""
        names = (f"{family}.{size}" for family in sorted(families) for size in SIZES)
        return tuple(n for n in names if self.rehearsal.catalogue.on_demand_price(n) is not None)

    def said_of(self, node: str) -> str:
        """Return all events about a node or its claim, a line each."""
        claims = {c.name for c in self.rehearsal.claims() if c.node_name == node}
        return "\n".join(
            f"{record.event.reason}: {record.event.message}"
            for record in self.rehearsal.cluster.events()
            if record.event.about.name in {node, *claims}
        )


def _system(side: Side, terms: Terms) -> SystemSettings:
    rules = ConsolidationRules(payback=terms.payback, spot_to_spot=terms.spot_to_spot)
    return SystemSettings(cluster_name="demo", consolidation=rules if side is Side.OURS else None)


def pool(
    name: str = "default",
    *,
    after: str = "1m",
    policy: str = "WhenEmptyOrUnderutilized",
    budgets: object = ALL,
    sizes: tuple[str, ...] = (),
    annotations: Mapping[str, str] | None = None,
    **more: object,
) -> Manifest:
    """Return a pool whose nodes are consolidated; on demand unless it says otherwise."""
    made = node_pool(name, **({"capacity_types": ("on-demand",)} | more))  # type: ignore[arg-type]
    made["spec"]["disruption"] = {
        "consolidationPolicy": policy,
        "consolidateAfter": after,
        "budgets": budgets,
    }
    made["metadata"]["annotations"] = dict(annotations or {})
    if sizes:
        made["spec"]["template"]["spec"]["requirements"].append(
            {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": list(sizes)}
        )
    return made
