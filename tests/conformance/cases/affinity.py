"""Pods that must, or would rather, be near others or apart from them; and taints."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import pod, pods, pool, spread, term
from tests.conformance.steps.objects_told import taints_of
from tests.conformance.steps.placement import alike, apart, nodes, on, refused, split, together, waiting
from tests.scenarios.manifests import Manifest

case = Suite("controllers/provisioning/scheduling/topology_test.go").case
BIG: Final = {"cpu": "2"}
TEN_NODES: Final = pods("w", 10, app="web", spreads=[spread("host", app="web")])
NEAR: Final = [term("s2", "host")]
NEAR_ZONE: Final = [term("s2", "zone")]


def one_a_zone(**more: Any) -> list[Manifest]:
    """Return a large pod for each zone."""
    return [pod(f"in-{zone}", requests=BIG, select={"zone": zone}, **more) for zone in ("z1", "z2", "z3")]


def placed(*names: str) -> list[Any]:
    return [on(name) for name in names]


IN_ZONES: Final = ("in-z1", "in-z2", "in-z3")

CASES: Final[tuple[Case, ...]] = (
    case(1929, "empty lists of terms mean nothing", pool(), pod(near=[], apart=[]), on("p")),
    case(
        1939,
        "a pod goes to the node of the one it must be near",
        pool(),
        TEN_NODES,
        pod("target", app="s2"),
        pod("near", near=NEAR),
        together("target", "near"),
    ),
    case(
        1973,
        "pods must share an architecture, and not a node",
        pool(),
        pod("a", app="s2", requests=BIG, select={"arch": "arm64"}, spreads=[spread("host", app="s2")]),
        pod(
            "b",
            app="s2",
            requests={"cpu": "1"},
            near=[term("s2", "arch")],
            spreads=[spread("host", app="s2")],
        ),
        alike("arch", "a", "b"),
        apart("a", "b"),
    ),
    case(
        2016,
        "pods that must be near each other share a node",
        pool(),
        pods("p", 3, app="s2", near=NEAR),
        together("p"),
    ),
    case(
        2040,
        "of pods that must share a node those that it has no room for wait",
        pool("default", "type In default small"),
        pods("p", 10, app="s2", near=NEAR),
        split("p", "host", 5),
        waiting("p", 5),
        pods("q", 10, app="s2", near=NEAR),
        waiting("q", 10),
        nodes(1),
    ),
    case(
        2082,
        "pods that must share the node of one in another zone wait",
        pool(),
        pod("first", app="s2", select={"zone": "z1"}, near=NEAR),
        on("first", zone="z1"),
        pods("p", 10, app="s2", need=["zone In z2 z3"], near=NEAR),
        waiting("p", 10),
    ),
    case(
        2126,
        "pods that must share a zone share a node",
        pool(),
        pods("p", 3, app="s2", near=NEAR_ZONE),
        together("p"),
    ),
    case(
        2150,
        "pods that must share a zone, and be in one",
        pool(),
        pods("p", 3, app="s2", near=NEAR_ZONE, need=["zone In z3"]),
        on("p", zone="z3"),
        together("p"),
    ),
    case(
        2181,
        "pods that must share a zone select two",
        pool(),
        pod("a", app="s2", near=NEAR_ZONE, need=["zone In z2"]),
        pod("b", app="s2", near=NEAR_ZONE, need=["zone In z3"]),
        on("a", zone="z2"),
        on("b", zone="z3"),
        nodes(2),
    ),
    case(
        2234,
        "a pod would rather be near one that there is not",
        pool(),
        TEN_NODES,
        pod("near", near_soft=[(50, term("s2", "host"))]),
        on("near"),
    ),
    case(
        2267,
        "pods would rather avoid all zones there are",
        pool(),
        pods("w", 3, app="web", spreads=[spread("zone", app="web")]),
        pods("p", 10, apart_soft=[(50, term("web", "zone"))]),
        on("w"),
        on("p"),
    ),
    case(
        2300,
        "a pod avoids the node of another",
        pool(),
        pod("avoiding", apart=NEAR),
        pod("other", app="s2"),
        apart("avoiding", "other"),
    ),
    case(
        2322,
        "a pod must avoid pods in every zone",
        pool(),
        one_a_zone(app="s2"),
        pod("avoiding", apart=NEAR_ZONE),
        *placed(*IN_ZONES),
        refused("avoiding"),
    ),
    case(
        2361,
        "a pod must avoid the zone of one that has none yet",
        pool(),
        pod("other", app="s2", requests=BIG),
        pod("avoiding", apart=NEAR_ZONE),
        on("other"),
        apart("other", "avoiding", by="zone"),
        differs="a zone is chosen for the first in the same decision; the second need not wait for its node",
    ),
    case(
        2383,
        "a pod must avoid the architecture of another",
        pool(),
        pod("a", app="s2", requests=BIG, select={"arch": "arm64"}, spreads=[spread("host", app="s2")]),
        pod(
            "b",
            app="s2",
            requests={"cpu": "1"},
            apart=[term("s2", "arch")],
            spreads=[spread("host", app="s2")],
        ),
        apart("a", "b", by="arch"),
    ),
    case(
        2426,
        "pods in every zone would rather avoid another",
        pool(),
        one_a_zone(apart_soft=[(10, term("s2", "zone"))]),
        pod("other", app="s2"),
        *placed(*IN_ZONES, "other"),
    ),
    case(
        2466,
        "pods in every zone must avoid another",
        pool(),
        one_a_zone(apart=NEAR_ZONE),
        pod("other", app="s2"),
        *placed(*IN_ZONES),
        refused("other"),
    ),
    case(
        2502,
        "a pod must stay out of the zone of one that avoids it and has none yet",
        pool(),
        pod("avoiding", apart=NEAR_ZONE, requests=BIG),
        pod("other", app="s2"),
        apart("avoiding", "other", by="zone"),
        differs="a zone is chosen for the first in the same decision; the second need not wait for its node",
    ),
    case(
        2533,
        "pods that run in every zone must avoid another",
        pool(),
        one_a_zone(apart=NEAR_ZONE),
        *placed(*IN_ZONES),
        pod("other", app="s2"),
        refused("other"),
    ),
    case(
        2583,
        "pods that run in every zone would rather avoid another",
        pool(),
        one_a_zone(apart_soft=[(10, term("s2", "zone"))]),
        *placed(*IN_ZONES),
        pod("other", app="s2"),
        on("other"),
    ),
    case(
        2633,
        "pods that spread over nodes would all rather be near one",
        pool(),
        pods("p", 3, app="web", spreads=[spread("host", app="web")], near_soft=[(50, term("s2", "host"))]),
        pod("target", app="s2"),
        on("target"),
        split("p", "host", 1, 1, 1),
    ),
    case(
        2668,
        "three pods that avoid each other's zones, and more than there are zones",
        pool(),
        pods("a", 3, app="s2", apart=NEAR_ZONE),
        split("s2", "zone", 1, 1, 1),
        pods("b", 3, app="s2", apart=NEAR_ZONE),
        refused("b"),
        differs="all zones are used in one decision; there it takes a decision for each zone",
    ),
    case(2713, "near one that there is not", pool(), pods("p", 10, near=NEAR_ZONE), refused("p")),
    case(
        2730,
        "pods must be in the zone of one that may be in any",
        pool(),
        pods("p", 10, near=NEAR_ZONE),
        pod("target", app="s2"),
        alike("zone", "p", "target"),
        differs="a zone is chosen for the target in the same decision; the others need not wait for its node",
    ),
    case(
        2763,
        "pods must be in the zone of one that is bound to it",
        pool(),
        pod("target", app="s2", need=["zone In z1"]),
        pods("p", 10, near=NEAR_ZONE),
        on("target", zone="z1"),
        on("p", zone="z1"),
    ),
    case(
        2792,
        "a chain of pods of which each must be near the next",
        pool(),
        pod("db", app="db"),
        pod("web", app="web", near=[term("db")]),
        pod("cache", app="cache", near=[term("web")]),
        pod("ui", app="ui", near=[term("cache")]),
        together("db", "web", "cache", "ui"),
    ),
    case(2827, "near pods that nobody makes", pool(), pod(app="db", near=[term("web")]), refused("p")),
    case(
        2843,
        "the pod to be near is in another namespace",
        pool(),
        TEN_NODES,
        pod("target", app="s2", namespace="other"),
        pod("near", near=NEAR),
        on("target"),
        refused("near"),
    ),
    case(
        2881,
        "the pod to be near is in a namespace that is listed",
        pool(),
        TEN_NODES,
        pod("target", app="s2", namespace="other"),
        pod("near", near=[term("s2", "host", namespaces=["other"])]),
        together("target", "near"),
    ),
    case(
        2920,
        "the pod to be near is in some namespace, and all are selected",
        pool(),
        TEN_NODES,
        pod("target", app="s2", namespace="other"),
        pod("near", near=[term("s2", "host", namespaceSelector={})]),
        together("target", "near"),
    ),
    case(
        3280,
        "nodes have the taints of their pool",
        pool(taint=["test=bar:NoSchedule"]),
        pod(tolerate=[":NoSchedule"]),
        taints_of("p", "test=bar:NoSchedule"),
    ),
    case(
        3290,
        "pods that tolerate a pool's taint, and pods that do not",
        pool(taint=["test-key=test-value:NoSchedule"]),
        pod("exists", tolerate=["test-key:NoSchedule"]),
        pod("equal", tolerate=["test-key=test-value:NoSchedule"]),
        pod("none"),
        pod("other-key", tolerate=["invalid:NoSchedule"]),
        pod("no-value", tolerations=[{"key": "test-key", "operator": "Equal", "effect": "NoSchedule"}]),
        on("exists"),
        on("equal"),
        refused("none", "other-key", "no-value"),
    ),
    case(
        3317,
        "a startup taint keeps no pod away from a pool",
        pool(startup=["ignore-me=nothing:NoSchedule"]),
        pod(),
        on("p"),
    ),
    case(
        3325,
        "that a pod tolerates a taint does not put it on the node",
        pool(),
        pod(tolerate=["test-key:NoExecute"]),
        taints_of("p"),
    ),
)
