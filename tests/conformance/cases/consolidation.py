"""Nodes given up because their pods fit elsewhere, what is said of it, and nodes that stay."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.consolidating import (
    APP,
    FILL,
    KEEP,
    LONG,
    MERGING,
    REPLACING,
    consolidating,
    oversized,
    part_filled,
)
from tests.conformance.objects import budget, deployment, node, pod, spread, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import node_annotated, passes, scaled
from tests.conformance.steps.endings import ended, most_at_once
from tests.conformance.steps.objects_told import condition, event
from tests.conformance.steps.placement import nodes, on, running, same, split, waiting

SUITE: Final = Suite("controllers/disruption/consolidation_test.go", MERGING)

CONDITION: Final = Suite("controllers/nodeclaim/disruption/consolidation_test.go", SUITE.setting)

case = SUITE.case


def merged(
    line: int, what: str, left: int, *more: Given, count: int = 2, setting: Setting | None = None, **of: Any
) -> Case:
    """Return a case in which so many of part-filled nodes are left in the end."""
    return case(line, what, *part_filled(count, **of), passes(LONG), nodes(left), *more, setting=setting)


DELETE: Final = (
    merged(2421, "pods of two nodes fit on one", 1, running(2)),
    case(
        2539,
        "pods fit on a node that is not ours",
        consolidating(budgets=[{"nodes": "0"}]),
        deployment("app", requests=APP),
        nodes(1),
        node("foreign", cpu="32"),
        consolidating(),
        passes(LONG),
        on("app", host="foreign"),
        ended(underutilized=1),
    ),
    merged(
        2587,
        "a budget keeps the pod of one node: the other one goes",
        1,
        same("app-1", "app-1"),
        given=(budget("app-1", "app-1", maxUnavailable=0),),
    ),
    case(
        2644,
        "one node is annotated not to be disrupted: the other one goes",
        *part_filled(2)[:-2],
        node_annotated("app-1", "karpenter.sh/do-not-disrupt", "true"),
        scaled("fill-0", 0, "fill-1"),
        consolidating(),
        passes(LONG),
        nodes(1),
        same("app-1", "app-1"),
    ),
    merged(
        2686,
        "a pod of one node is annotated not to be disrupted: the other one goes",
        1,
        same("app-1", "app-1"),
        each={1: {"annotations": KEEP}},
    ),
    merged(
        2729,
        "all pods are annotated, and nodes have a grace period: none goes",
        2,
        ended(),
        each={0: {"annotations": KEEP}, 1: {"annotations": KEEP}},
        grace="300s",
    ),
    merged(
        2776,
        "budgets keep all pods, and nodes have a grace period: none goes",
        2,
        ended(),
        given=(budget("app-0", "app-0", maxUnavailable=0), budget("app-1", "app-1", maxUnavailable=0)),
        grace="300s",
    ),
    merged(
        2824,
        "a pod of one node is annotated for an hour: the other one goes",
        1,
        same("app-1", "app-1"),
        each={1: {"annotations": {"karpenter.sh/do-not-disrupt": "1h"}}},
    ),
    case(
        2867,
        "nodes go when the time that their pods are annotated with is over",
        *part_filled(2, each={n: {"annotations": {"karpenter.sh/do-not-disrupt": "30m"}} for n in range(2)}),
        passes("20m"),
        nodes(2),
        ended(),
        passes("40m"),
        nodes(1),
    ),
    merged(
        2916,
        "an annotation do-not-disrupt that says nothing keeps no node",
        1,
        each={n: {"annotations": {"karpenter.sh/do-not-disrupt": "invalid-format"}} for n in range(2)},
    ),
    case(
        2956,
        "a pod that nothing owns is evicted with the others",
        consolidating(budgets=[{"nodes": "0"}]),
        deployment("fill-0", requests=FILL),
        deployment("fill-1", requests=FILL),
        nodes(2),
        deployment("app-0", requests=APP, annotations=KEEP),
        pod("lone", requests=APP),
        nodes(2),
        scaled("fill-0", 0, "fill-1"),
        consolidating(),
        passes(LONG),
        nodes(1),
        running(1),
    ),
    case(
        3050,
        "no pods go to a node that pods came to within consolidateAfter",
        *part_filled(2, after="30m"),
        passes("25m"),
        nodes(2),
        passes("30m"),
        nodes(1),
    ),
    case(
        3390,
        "a pod waits for ever",
        *part_filled(2),
        pod("stuck", select={"none": "such"}),
        passes(LONG),
        nodes(1),
        waiting("stuck", 1),
    ),
    case(
        3442,
        "pods may be nowhere else",
        consolidating(name="one", labels_={"foo": "1"}),
        consolidating(name="two", labels_={"foo": "2"}),
        deployment("a", 2, requests=APP, select={"foo": "1"}),
        deployment("b", 1, requests=APP, select={"foo": "2"}),
        passes(LONG),
        nodes(2),
        ended(),
    ),
    case(
        3482,
        "another pool's node class is not there",
        *part_filled(2),
        consolidating("type In none-such", name="broken"),
        passes(LONG),
        nodes(1),
    ),
)

MANY: Final = (
    merged(4027, "three nodes become one", 1, running(3), count=3),
    case(
        4087,
        "two nodes do not become one of the same type where one of them has no room for both",
        consolidating(),
        deployment("a", requests={"cpu": "2"}),
        deployment("b", requests={"cpu": "2"}),
        nodes(2),
        passes(LONG),
        nodes(2),
        ended(),
    ),
    case(
        4525,
        "a spread over zones is kept",
        consolidating(),
        deployment("web", 3, requests=APP, spreads=[spread("zone", app="web")]),
        nodes(3),
        passes(LONG),
        nodes(3),
        split("web", "zone", 1, 1, 1),
        ended(),
    ),
    case(
        4599,
        "pods that avoid each other keep their nodes",
        consolidating(),
        deployment("web", 3, requests=APP, apart=[term("web")]),
        nodes(3),
        passes(LONG),
        nodes(3),
        ended(),
    ),
)

BUDGETS: Final = (
    case(
        433,
        "a budget of 30 % lets three nodes of ten go at once",
        *part_filled(10, budgets=[{"nodes": "30%"}]),
        passes(LONG),
        most_at_once(3),
    ),
    case(
        652,
        "a budget of none lets no node go",
        *part_filled(3, budgets=[{"nodes": "0"}]),
        passes(LONG),
        nodes(3),
        ended(),
    ),
    case(
        411,
        "a budget of none lets no empty node go",
        consolidating(budgets=[{"nodes": "0%"}]),
        deployment("web", 3, apart=[term("web")]),
        nodes(3),
        scaled("web", 0),
        passes(LONG),
        nodes(3),
    ),
)

TOLD: Final = (
    case(
        114,
        "the pool gives up empty nodes alone",
        *oversized(policy="WhenEmpty"),
        passes(LONG),
        event("Unconsolidatable", "WhenEmpty"),
        ended(),
        setting=REPLACING,
    ),
    case(
        125,
        "the pool gives up no nodes",
        *oversized(after="Never"),
        passes(LONG),
        event("Unconsolidatable", "consolidation disabled"),
        ended(),
        setting=REPLACING,
    ),
    CONDITION.case(
        85,
        "a claim is consolidatable when nothing came or left for its time",
        consolidating(after="5m"),
        deployment("web"),
        passes("4m"),
        condition("Consolidatable", None, on_="NodeClaim"),
        passes("2m"),
        condition("Consolidatable", "True", on_="NodeClaim"),
    ),
    CONDITION.case(
        116,
        "a claim is not consolidatable any more when a pod comes",
        consolidating(after="5m"),
        deployment("web"),
        passes("6m"),
        condition("Consolidatable", "True", on_="NodeClaim"),
        deployment("more"),
        passes(30),
        condition("Consolidatable", None, on_="NodeClaim"),
    ),
    CONDITION.case(
        125,
        "a claim of a pool that never consolidates is not consolidatable",
        consolidating(after="Never"),
        deployment("web"),
        passes("10m"),
        condition("Consolidatable", None, on_="NodeClaim"),
    ),
)


CASES: Final[tuple[Case, ...]] = (*DELETE, *MANY, *BUDGETS, *TOLD)
