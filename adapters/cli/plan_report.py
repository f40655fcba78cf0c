"""The report of a consolidation plan, as JSON and as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.refusal_report import named
from treenail.adapters.embed.consolidation_preview import (
    BlockedNode,
    ConsolidationPreview,
    PreviewedMove,
)
from treenail.adapters.embed.previewed_cluster import PoolBudget
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.model.counted import counted
from treenail.domain.model.instants import write_instant
from treenail.domain.model.labels import CAPACITY_TYPE, ZONE
from treenail.domain.packing.plan import PlannedClaim

_PLACES: Final = 6
# As AWS counts.
_HOURS_A_MONTH: Final = 730


def as_json(made: ConsolidationPreview) -> dict[str, object]:
    """Return a plan as the command line's contract has it: $/h, pods as namespace/name, times in UTC."""
    return {
        "moves": [_move(one) for one in made.moves],
        "blocked": [
            {
                "node": one.node,
                "nodePool": one.pool or None,
                "blockers": [_blocker(one, b) for b in one.blockers],
            }
            for one in made.blocked
        ],
        "budgets": [
            {"nodePool": b.pool, "nodes": b.nodes, "empty": b.empty, "underutilized": b.underutilized}
            for b in made.budgets
        ],
        "costBefore": round(made.cost_before, _PLACES),
        "costAfter": round(made.cost_after, _PLACES),
        "lowerBound": round(made.lower_bound, _PLACES),
        "unpriced": list(made.unpriced),
        "waiting": made.waiting,
        "cutShort": made.cut_short,
    }


def _move(move: PreviewedMove) -> dict[str, object]:
    return {
        "nodes": list(move.nodes),
        "replacements": [
            {
                "nodePool": claim.pool,
                "instanceTypes": list(claim.instance_types),
                "zones": sorted(claim.requirements[ZONE].values),
                "capacityTypes": sorted(claim.requirements[CAPACITY_TYPE].values),
                "price": round(claim.price, _PLACES),
                "pods": list(pods),
            }
            for claim, pods in move.claims
        ],
        "pods": sorted((*move.places, *(pod for _, pods in move.claims for pod in pods))),
        "existing": _by_node(move),
        "saves": round(move.saves, _PLACES),
        "costs": round(move.costs, _PLACES),
        "reason": move.reason,
        "backTo": list(move.back_to),
    }


def _by_node(move: PreviewedMove) -> dict[str, list[str]]:
    """Return the pods that go to existing nodes, by node, all sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for pod, node in move.places.items():
        found[node].append(pod)
    return {node: sorted(found[node]) for node in sorted(found)}


def _blocker(of: BlockedNode, blocker: Blocker) -> dict[str, object]:
    return {
        "kind": blocker.kind,
        "name": blocker.name,
        "until": None if blocker.until is None else write_instant(blocker.until),
        "wouldSave": round(of.without(blocker), _PLACES),
        "sentence": blocker.sentence,
    }


def write_report(made: ConsolidationPreview, to: TextIO, *, whole: bool) -> None:
    """Write the moves in order, the blockers of other nodes, the budgets, and the sum.

    With `whole` the plan is as if there were no budgets.
    """
    console = console_on(to)
    if made.moves:
        console.print(_moves(made.moves))
    if made.blocked:
        console.print(_blocked(made.blocked))
    for line in (*_budgets(made.budgets, whole=whole), *_notes(made), _sum(made)):
        _print(console, line)


def _print(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False)


def _moves(moves: Sequence[PreviewedMove]) -> Table:
    # Names are folded on a narrow terminal: half a name is of no use.
    table = Table("", box=None)
    table.add_column("nodes that go", overflow="fold", min_width=8)
    for header in ("pods", "go to", "saves $/h", "a month", "costs $ once"):
        table.add_column(header, overflow="fold")
    table.add_column("as", no_wrap=True, min_width=len(Cause.UNDERUTILIZED.value))
    for number, move in enumerate(moves, 1):
        pods = len(move.places) + sum(len(pods) for _, pods in move.claims)
        table.add_row(
            str(number),
            named(move.nodes),
            str(pods),
            ", ".join(_targets(move)),
            f"{move.saves:.4f}",
            f"{move.saves * _HOURS_A_MONTH:.0f}",
            f"{move.costs:.3f}",
            f"{move.reason}, back to {named(move.back_to)}" if move.back_to else move.reason,
        )
    return table


def _targets(move: PreviewedMove) -> Iterator[str]:
    nodes = sorted(set(move.places.values()))
    if nodes:
        yield named(nodes)
    for claim, _ in move.claims:
        yield f"a new {_what(claim)}"


def _what(claim: PlannedClaim) -> str:
    """Return the cheapest of what a claim may become, as a person would say it."""
    more = (
        f" or {counted(len(claim.instance_types) - 1, 'other type')}" if len(claim.instance_types) > 1 else ""
    )
    return f"{claim.instance_types[0]}{more} at ${claim.price:.4f}/h"


def _blocked(blocked: Sequence[BlockedNode]) -> Table:
    """Return what keeps nodes, by reason, those first that cost most.

    Each node is counted once for each reason; objects are named, and nodes where no object is to blame.
    """
    groups: dict[str, dict[str, float]] = defaultdict(dict)
    blame: dict[str, dict[str, None]] = defaultdict(dict)
    for node in blocked:
        for blocker in node.blockers:
            groups[blocker.group][node.node] = node.without(blocker)
            blame[blocker.group][_blame(blocker)] = None
    table = Table("nodes that stay", "why", box=None)
    table.add_column("which", overflow="fold")
    table.add_column("would save at most $/h")
    table.add_column("a month")
    for group in sorted(groups, key=lambda one: (-sum(groups[one].values()), one)):
        saved = sum(groups[group].values())
        table.add_row(
            str(len(groups[group])),
            group,
            named(sorted(blame[group])),
            f"{saved:.4f}" if saved else "-",
            f"{saved * _HOURS_A_MONTH:.0f}" if saved else "-",
        )
    return table


def _blame(blocker: Blocker) -> str:
    until = f" until {write_instant(blocker.until)}" if blocker.until is not None else ""
    return f"{blocker.name}{until}"


def _budgets(budgets: Sequence[PoolBudget], *, whole: bool) -> Iterator[str]:
    for one in budgets:
        if not one.nodes or (one.empty is None and one.underutilized is None):
            continue
        left_out = ", which this plan leaves out of account" if whole else ""
        yield (
            f"budgets of {one.pool}: of {counted(one.nodes, 'node')} {_count(one.empty)} may go now as "
            f"empty, and {_count(one.underutilized)} more as underutilized{left_out}"
        )


def _count(allowed: int | None) -> str:
    return "all" if allowed is None else str(allowed)


def _notes(made: ConsolidationPreview) -> Iterator[str]:
    if made.waiting:
        yield f"{counted(made.waiting, 'pod waits', 'pods wait')} for a place, which comes before any move"
    if made.unpriced:
        yield f"the price is not known of {named(made.unpriced)}: a deletion there counts as saving little"
    if made.cut_short:
        yield "the search for nodes to be merged ended before all were looked at"


def _sum(made: ConsolidationPreview) -> str:
    nodes = sum(len(move.nodes) for move in made.moves)
    saves = made.cost_before - made.cost_after
    if not made.blocked and not nodes:
        return "nothing to move: there are no nodes"
    if not nodes:
        return f"nothing to move: the nodes cost ${made.cost_before:.4f}/h{_least(made)}"
    return (
        f"{counted(nodes, 'node')} would go in {counted(len(made.moves), 'move')}: "
        f"${made.cost_after:.4f}/h in place of ${made.cost_before:.4f}/h, "
        f"${saves * _HOURS_A_MONTH:,.0f} a month less{_least(made)}"
    )


def _least(made: ConsolidationPreview) -> str:
    return f" (no plan could cost less than ${made.lower_bound:.4f}/h)"
