"""Nodes that are replaced by cheaper ones; and nodes that stay."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.consolidating import (
    ACTING,
    APP,
    KEEP,
    LONG,
    MERGING,
    REPLACING,
    SPOT,
    TWO_SIZES,
    consolidating,
    on_spot,
    oversized,
    spot_types,
)
from tests.conformance.instance_types import Size
from tests.conformance.objects import budget, deployment
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import node_annotated, passes, scaled
from tests.conformance.steps.endings import ended
from tests.conformance.steps.objects_told import event
from tests.conformance.steps.placement import asked_for, nodes, on, running

SUITE: Final = Suite("controllers/disruption/consolidation_test.go", MERGING)

case = SUITE.case


def replaced(
    line: int, what: str, *more: Given, by: str = "small", setting: Setting = REPLACING, **of: Any
) -> Case:
    return case(
        line,
        what,
        *oversized(**of),
        passes(LONG),
        ended(underutilized=1),
        on("app", type=by),
        *more,
        setting=setting,
    )


def stays(
    line: int, what: str, *more: Given, needs: tuple[str, ...] = (), setting: Setting = REPLACING, **of: Any
) -> Case:
    return case(line, what, *oversized(*needs, **of), passes(LONG), ended(), nodes(1), *more, setting=setting)


REPLACE: Final = (
    replaced(1058, "a node on demand is replaced by a cheaper one"),
    case(
        1059,
        "a node on spot is replaced by a cheaper one",
        *oversized(SPOT),
        passes(LONG),
        ended(underutilized=1),
        on("app", cpus="2"),
        setting=on_spot(spot_types(20)),
    ),
    stays(
        1061,
        "on spot fewer than fifteen types are cheaper",
        event("Unconsolidatable", "15"),
        needs=(SPOT,),
        setting=on_spot(spot_types(5)),
    ),
    stays(
        1136,
        "spot is not replaced by spot without the gate",
        event("Unconsolidatable", "SpotToSpotConsolidation is disabled"),
        needs=(SPOT,),
        setting=on_spot(spot_types(20), gate=False),
    ),
    case(
        1177,
        "a node on spot of one of the fifteen cheapest types stays",
        consolidating(SPOT),
        deployment("app", requests=APP),
        on("app", cpus="2"),
        passes(LONG),
        ended(),
        setting=on_spot(spot_types(20)),
    ),
    case(
        1247,
        "on spot the fifteen cheapest types are asked for",
        *oversized(SPOT),
        passes(LONG),
        ended(underutilized=1),
        asked_for(*(f"type-{n:02}" for n in range(15))),
        setting=on_spot(spot_types(18)),
    ),
    case(
        1357,
        "on spot as many types are asked for as minValues wants, where that is more",
        *oversized(SPOT, "type Exists min=16"),
        passes(LONG),
        ended(underutilized=1),
        asked_for(*(f"type-{n:02}" for n in range(16))),
        setting=on_spot(spot_types(18, large=16)),
    ),
    case(
        1568,
        "on spot fifteen types are asked for, where minValues wants fewer",
        *oversized(SPOT, "type Exists min=10"),
        passes(LONG),
        ended(underutilized=1),
        asked_for(*(f"type-{n:02}" for n in range(15))),
        setting=on_spot(spot_types(18, large=16)),
    ),
    stays(
        1777,
        "minValues leave no cheaper choice",
        needs=("way In on-demand", "type Exists min=2"),
        setting=Setting(
            scheduler=True,
            types=(*TWO_SIZES, Size(name="larger", cpu=17, gib=17, price=30.0)),
            system=ACTING,
        ),
    ),
    replaced(
        1836,
        "another pool has no types at all",
        given=(consolidating("way In on-demand", "type In none-such", name="other"),),
    ),
    stays(1890, "a budget keeps the pods", given=(budget("app", "app", maxUnavailable=0),)),
    replaced(
        2040,
        "a budget of another namespace keeps nothing",
        given=(
            {**budget("app", "app", maxUnavailable=0), "metadata": {"name": "app", "namespace": "other"}},
        ),
    ),
    case(
        2130,
        "a node is annotated not to be disrupted",
        consolidating(budgets=[{"nodes": "0"}]),
        deployment("fill", requests={"cpu": "12"}),
        deployment("app", requests=APP),
        running(2),
        node_annotated("app", "karpenter.sh/do-not-disrupt", "true"),
        scaled("fill", 0),
        consolidating(),
        passes(LONG),
        ended(),
        setting=REPLACING,
    ),
    stays(2219, "a pod is annotated not to be disrupted", app={"annotations": KEEP}),
    case(
        2222,
        "spot in some zone is dearer than the node",
        consolidating("way In on-demand spot", budgets=[{"nodes": "0"}]),
        deployment("app", requests=APP, need=["way In on-demand"]),
        deployment("free", requests=APP),
        nodes(1),
        scaled("app", 0),
        consolidating("way In on-demand spot"),
        passes(LONG),
        on("free", way="on-demand", type="current"),
        ended(),
        setting=Setting(
            scheduler=True,
            system=ACTING,
            types=(
                Size(name="current", price=0.5, places=[("z1", "on-demand")]),
                Size(
                    name="other",
                    places=[("z1", "spot"), ("z2", "spot"), ("z3", "spot")],
                    prices={("z1", "spot"): 1.0, ("z2", "spot"): 0.2, ("z3", "spot"): 0.4},
                ),
            ),
        ),
    ),
    case(
        2301,
        "all that the pool may buy is dearer than the node",
        consolidating(),
        deployment("app", requests=APP),
        on("app", type="current"),
        passes(LONG),
        ended(),
        setting=Setting(
            scheduler=True,
            system=ACTING,
            types=(
                Size(name="current", price=0.5, places=[("z1", "on-demand")]),
                Size(name="other", price=0.6, places=[("z1", "on-demand"), ("z2", "on-demand")]),
                Size(name="cheap", price=0.2, places=[("z2", "spot")]),
            ),
        ),
    ),
)


CASES: Final[tuple[Case, ...]] = REPLACE
