"""The story of a simulation, as its report tells it: what would be bought, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from treenail.adapters.embed.dollars import dollars
from treenail.adapters.embed.rehearsal_summary import HOURS_A_MONTH
from treenail.adapters.embed.simulation import Simulation
from treenail.adapters.report.story import Fact, Finding, Sheet, Story
from treenail.domain.model.labels import CAPACITY_TYPE, ZONE
from treenail.domain.packing.plan import PlannedClaim

_MOST_ROWS: Final = 1000
_MOST_NAMED: Final = 6


def tell_simulation(simulation: Simulation, title: str) -> Story:
    """Return a decision as its page shows it."""
    plan, names = simulation.plan, simulation.pod_names
    refused = tuple(
        Finding(_named([names[uid] for uid in group.pods]), group.sentence) for group in plan.refused
    )
    return Story(
        title=title,
        subtitle="one decision for the manifests as they stand",
        seconds=0.0,
        facts=tuple(_facts(simulation)),
        findings=(("Pods without a place", refused[:_MOST_ROWS]),) if refused else (),
        sheets=tuple(sheet for sheet in (_bought(plan.claims, names), _existing(simulation)) if sheet.rows),
        cut=tuple(_cut(len(plan.claims), "nodes")) + tuple(_cut(len(refused), "reasons")),
    )


def _facts(simulation: Simulation) -> Iterator[Fact]:
    plan = simulation.plan
    refused = sum(len(group.pods) for group in plan.refused)
    yield Fact("to buy", f"{dollars(plan.cost)}/h", f"{dollars(plan.cost * HOURS_A_MONTH)} a month")
    yield Fact("no plan costs less than", f"{dollars(plan.lower_bound)}/h")
    yield Fact("nodes to buy", f"{len(plan.claims):,}")
    yield Fact("pods", f"{len(simulation.pod_names):,}", f"{refused:,} without a place")
    yield Fact("onto existing nodes", f"{len(plan.nominations):,}")


def _bought(claims: Sequence[PlannedClaim], names: dict[str, str]) -> Sheet:
    return Sheet(
        heading="Nodes to buy",
        columns=("pool", "cheapest type", "of", "$/h", "zones", "as", "pods", "requests", "which"),
        rows=tuple(
            (
                claim.pool,
                claim.instance_types[0],
                f"{len(claim.instance_types)}",
                f"{claim.price:.4f}",
                ", ".join(sorted(claim.requirements[ZONE].values)),
                ", ".join(sorted(claim.requirements[CAPACITY_TYPE].values)),
                f"{len(claim.pods)}",
                ", ".join(f"{name} {amount}" for name, amount in claim.requests.format().items()),
                _named([names[uid] for uid in claim.pods]),
            )
            for claim in claims[:_MOST_ROWS]
        ),
        numbers=(2, 3, 6),
    )


def _existing(simulation: Simulation) -> Sheet:
    onto = simulation.onto_existing()
    return Sheet(
        heading="Onto existing nodes",
        columns=("node", "pods", "which"),
        rows=tuple((node, f"{len(pods)}", _named(pods)) for node, pods in list(onto.items())[:_MOST_ROWS]),
        numbers=(1,),
    )


def _named(pods: Sequence[str]) -> str:
    shown = ", ".join(pods[:_MOST_NAMED])
    return shown if len(pods) <= _MOST_NAMED else f"{shown} and {len(pods) - _MOST_NAMED:,} more"


def _cut(count: int, what: str) -> Iterator[str]:
    if count > _MOST_ROWS:
        yield f"The first {_MOST_ROWS:,} of {count:,} {what} are shown."
