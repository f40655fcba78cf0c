"""Which nodes consolidation gives up or replaces: on spot, of many pools, where some are reserved."""

from __future__ import annotations

from dataclasses import replace
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
    SPOT_IN_Z1,
    consolidating,
    on_spot,
    oversized,
    part_filled,
    spot_types,
)
from tests.conformance.instance_types import Size
from tests.conformance.objects import budget, deployment, ec2, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import node_annotated, passes, scaled
from tests.conformance.steps.endings import ended, first_wave, most_at_once
from tests.conformance.steps.machines import reserve
from tests.conformance.steps.placement import nodes, on, running, same
from treenail.domain.packing.problem import PackingSettings, PreferencePolicy

SUITE: Final = Suite("controllers/disruption/consolidation_test.go", MERGING)
MANY_SPOT: Final = on_spot(spot_types(20))
ALIKE: Final = tuple(
    Size(name=f"large-{n:02}", cpu=16, gib=16, price=20, places=SPOT_IN_Z1) for n in range(17)
)
IGNORING: Final[dict[str, Any]] = {
    **ACTING,
    "packing": PackingSettings(preferences=PreferencePolicy.IGNORE),
}
case = SUITE.case


def stays(line: int, what: str, *needs: str, setting: Setting = MANY_SPOT, **of: Any) -> Case:
    """Return a case in which a large node on spot with a small pod stays."""
    return case(line, what, *oversized(SPOT, *needs, **of), passes(LONG), ended(), nodes(1), setting=setting)


def goes(line: int, what: str, **of: Any) -> Case:
    """Return a case in which a large node on spot with a small pod is replaced by a small one."""
    steps = (passes(LONG), ended(underutilized=1), on("app", cpus="2", way="spot"))
    return case(line, what, *oversized(SPOT, **of), *steps, setting=MANY_SPOT)


ON_SPOT: Final = (
    stays(
        1778,
        "minValues leave no cheaper choice on spot",
        "type Exists min=17",
        setting=on_spot((*spot_types(16, large=0), *ALIKE)),
    ),
    goes(
        1837,
        "another pool has no types at all, on spot",
        given=(consolidating("way In spot", "type In none-such", name="other"),),
    ),
    stays(1891, "a budget keeps the pods, on spot", given=(budget("app", "app", maxUnavailable=0),)),
    goes(
        2041,
        "a budget of another namespace keeps nothing, on spot",
        given=(
            {**budget("app", "app", maxUnavailable=0), "metadata": {"name": "app", "namespace": "other"}},
        ),
    ),
    case(
        2131,
        "a node on spot is annotated not to be disrupted",
        *oversized(SPOT, budgets=[{"nodes": "0"}]),
        node_annotated("app", "karpenter.sh/do-not-disrupt", "true"),
        consolidating(SPOT),
        passes(LONG),
        ended(),
        setting=MANY_SPOT,
    ),
    stays(2220, "a pod on spot is annotated not to be disrupted", app={"annotations": KEEP}),
    case(
        4028,
        "three nodes on spot become one",
        *part_filled(3, SPOT),
        passes(LONG),
        nodes(1),
        running(3),
    ),
    case(
        4164,
        "two nodes on spot do not become one of the same type where one of them has no room for both",
        consolidating(SPOT),
        deployment("a", requests={"cpu": "2"}),
        deployment("b", requests={"cpu": "2"}),
        nodes(2),
        passes(LONG),
        nodes(2),
        ended(),
    ),
    case(
        4030,
        "nodes of which one is on spot become one",
        consolidating("way In on-demand spot", budgets=[{"nodes": "0"}]),
        *(
            deployment(name, requests={"cpu": "2800m"}, need=[f"way In {way}"])
            for name, way in (("x", "on-demand"), ("y", "on-demand"), ("z", "spot"))
        ),
        nodes(3),
        *(deployment(f"app-{n}", requests=APP) for n in range(3)),
        running(6),
        nodes(3),
        scaled("x", 0, "y", "z"),
        consolidating("way In on-demand spot"),
        passes(LONG),
        nodes(1),
        running(3),
    ),
)


def pools_of_three(share: str) -> tuple[Given, ...]:
    """Return the steps that empty the three nodes of each of ten pools, and let budgets of a share decide."""
    names = [f"pool-{n}" for n in range(10)]
    return (
        *(
            consolidating(name=name, labels_={"foo": name}, budgets=[{"nodes": share}], after="30s")
            for name in names
        ),
        *(deployment(name, 3, apart=[term(name)], select={"foo": name}) for name in names),
        nodes(30),
        scaled(names[0], 0, *names[1:]),
        passes("3m"),
    )


BUDGETS: Final = (
    case(
        366,
        "a budget of 30 % lets three empty nodes of ten go",
        consolidating(after="30s", budgets=[{"nodes": "30%"}]),
        deployment("web", 10, apart=[term("web")]),
        nodes(10),
        scaled("web", 0),
        passes("3m"),
        first_wave(3),
    ),
    case(
        388,
        "a budget of all lets all empty nodes go",
        consolidating(after="30s", budgets=[{"nodes": "100%"}]),
        deployment("web", 10, apart=[term("web")]),
        nodes(10),
        scaled("web", 0),
        passes("3m"),
        first_wave(10),
        ended(empty=10),
    ),
    case(
        476,
        "a budget of 30 % lets three nodes of ten go at once, where two become one at a time",
        *part_filled(10, fill={"cpu": "2"}, app={"cpu": "1700m"}, budgets=[{"nodes": "30%"}]),
        passes("1h"),
        most_at_once(3),
        nodes(5),
    ),
    case(522, "budgets of half let two of three go, of each pool", *pools_of_three("50%"), first_wave(20)),
    case(588, "budgets of all let all go, of each pool", *pools_of_three("100%"), first_wave(30)),
)

WISHES: Final = (
    case(
        3121,
        "pods go to a node of a pool that gives up none",
        consolidating(name="source", weight=10),
        deployment("app", requests=APP),
        nodes(1),
        consolidating(name="kept", labels_={"foo": "kept"}, after="Never"),
        deployment("fix", requests=APP, select={"foo": "kept"}),
        passes(LONG),
        nodes(1),
        on("app", pool="kept"),
    ),
    case(
        3192,
        "a node is replaced where nodes are left alone for a minute",
        *oversized(after="1m"),
        passes(LONG),
        ended(underutilized=1),
        on("app", type="small"),
        setting=REPLACING,
    ),
    case(
        4429,
        "of two nodes that one goes whose pods are fewer",
        *part_filled(2, app={"cpu": "400m"})[:-2],
        deployment("beside", requests={"cpu": "400m"}, near=[term("app-0")]),
        running(5),
        scaled("fill-0", 0, "fill-1"),
        consolidating(),
        passes(LONG),
        nodes(1),
        same("app-0", "app-0"),
        same("beside", "app-0"),
        ended(underutilized=1),
    ),
    case(
        4952,
        "pods that would rather be apart share a node where preferences are ignored",
        *part_filled(2, each={n: {"apart_soft": [term("app-0"), term("app-1")]} for n in range(2)}),
        passes(LONG),
        nodes(1),
        running(2),
        setting=replace(MERGING, system=IGNORING),
    ),
    case(
        5017,
        "a node whose type a pod would rather have is replaced where preferences are ignored",
        *oversized(app={"prefer": [(1, ["type In large"])]}),
        passes(LONG),
        ended(underutilized=1),
        on("app", type="small"),
        setting=replace(REPLACING, system=IGNORING),
    ),
)


def into_reserved(line: int, way: str, what: str, *before: Given, kind: str = "large") -> Case:
    """Return a case in which a pod's node is replaced by one that is reserved."""
    both = ("way In reserved", f"way In reserved {way}")[way != "reserved"]
    return case(
        line,
        what,
        *before,
        ec2(capacityReservationSelectorTerms=[{"tags": {"purpose": "test"}}]),
        consolidating(both, f"type In {kind} large"),
        deployment("app", requests=APP),
        on("app", way=way, type="large"),
        reserve("cr-2", kind, "z1", 10),
        passes(LONG),
        ended(underutilized=1),
        on("app", way="reserved", type=kind),
        setting=REPLACING,
    )


RESERVED: Final = (
    into_reserved(
        4816,
        "reserved",
        "a node that is reserved is replaced by a cheaper one that is",
        reserve("cr-1", "large", "z1", 10),
        kind="small",
    ),
    into_reserved(4947, "on-demand", "a node on demand is replaced by one of its type that is reserved"),
    into_reserved(4948, "spot", "a node on spot is replaced by one of its type that is reserved"),
)

CASES: Final[tuple[Case, ...]] = (*ON_SPOT, *BUDGETS, *WISHES, *RESERVED)
