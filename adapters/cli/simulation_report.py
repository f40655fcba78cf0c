"""The report of a simulation, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TextIO

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.refusal_report import named, refused_as_json, write_refused
from treenail.adapters.cli.text_table import write_table
from treenail.adapters.embed.simulation import Simulation
from treenail.domain.model.counted import counted
from treenail.domain.model.labels import CAPACITY_TYPE, ZONE
from treenail.domain.packing.plan import PlannedClaim

_HEADERS: Final = ("pool", "cheapest type", "of", "$/h", "zones", "as", "pods", "requests", "which")


def as_json(simulation: Simulation, seconds: list[float]) -> dict[str, object]:
    """Return a decision as the command line's contract has it: prices in $/h, pods as namespace/name."""
    plan, names = simulation.plan, simulation.pod_names
    return {
        "nodeClaims": [_claim(c, names) for c in plan.claims],
        "existing": simulation.onto_existing(),
        "unschedulable": {names[uid]: group.sentence for group in plan.refused for uid in group.pods},
        "refused": refused_as_json(plan.refused, names),
        "terminating": list(simulation.terminating),
        "nominated": simulation.nominated,
        "cost": plan.cost,
        "lowerBound": plan.lower_bound,
        "wholeCost": plan.whole_cost,
        "wholeLowerBound": plan.whole_lower_bound,
        "pods": len(names),
        "seconds": seconds,
    }


def _claim(claim: PlannedClaim, names: dict[str, str]) -> dict[str, object]:
    return {
        "nodePool": claim.pool,
        "pods": [names[uid] for uid in claim.pods],
        "instanceTypes": list(claim.instance_types),
        "requirements": [
            {"key": r.key, "operator": operator.value, "values": list(values)}
            for r in claim.requirements.in_order()
            for operator, values in r.written()
        ],
        "requests": claim.requests.format(),
        "price": claim.price,
    }


def write_report(simulation: Simulation, to: TextIO) -> None:
    """Write the nodes to buy, what goes onto existing ones, and why pods were refused."""
    console = console_on(to)
    plan, names = simulation.plan, simulation.pod_names
    if plan.claims:
        write_table(console, _HEADERS, [_row(claim, names) for claim in plan.claims])
    for node, pods in simulation.onto_existing().items():
        console.print(f"{len(pods)} onto {node}: {named(pods)}", highlight=False, markup=False)
    write_refused(plan.refused, names, console)
    for line in (*_left_alone(simulation), *_sized(simulation)):
        console.print(line, highlight=False, markup=False)
    console.print(
        f"{counted(len(names), 'pod')}, {counted(len(plan.claims), 'node')} to buy for ${plan.cost:.4f}/h "
        f"(no plan could cost less than ${plan.lower_bound:.4f}/h); with what nodes cost beside their prices "
        f"${plan.whole_cost:.4f}/h (${plan.whole_lower_bound:.4f}/h)",
        highlight=False,
    )


def _row(claim: PlannedClaim, names: dict[str, str]) -> tuple[str, ...]:
    return (
        claim.pool,
        claim.instance_types[0],
        str(len(claim.instance_types)),
        f"{claim.price:.4f}",
        _may_be(claim, ZONE),
        _may_be(claim, CAPACITY_TYPE),
        str(len(claim.pods)),
        ", ".join(f"{name} {amount}" for name, amount in claim.requests.format().items()),
        named([names[uid] for uid in claim.pods]),
    )


def _left_alone(simulation: Simulation) -> Iterator[str]:
    """Yield a line on each kind of pods that no place is looked for."""
    going, promised = simulation.terminating, simulation.nominated
    if going:
        yield (
            f"terminating: no place is looked for, and those on a node keep their room until they are gone: "
            f"{named(going)}"
        )
    if promised:
        where = [f"{pod} on {node}" for pod, node in promised.items()]
        yield f"nominated: no place is looked for, as the scheduler makes room for them: {named(where)}"


def _sized(simulation: Simulation) -> Iterator[str]:
    """Yield a line on each pool that is to have a number of nodes, which no pod asks for."""
    for pool, size, there in simulation.sized():
        least = "" if pool.static else "at least "
        gate = ", with the feature gate StaticCapacity" if pool.static else ""
        nodes = counted(size, "node")
        are = "is" if there == 1 else "are"
        yield f"{pool.name} is to have {least}{nodes}, whatever pods need{gate}: {there} {are} there"


def _may_be(claim: PlannedClaim, key: str) -> str:
    """Return the values that a label of the node may have, as a person would list them."""
    return ", ".join(sorted(claim.requirements[key].values))
