"""Topology spread constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import assorted
from tests.conformance.objects import node, pod, pods, pool, spread
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import removed
from tests.conformance.steps.placement import level, most, nodes, on, refused, split, together, waiting
from tests.scenarios.manifests import Manifest

case = Suite("controllers/provisioning/scheduling/topology_test.go").case
# Of these only one fits beside another on most types.
ONE: Final = {"cpu": "1"}
SELECTED: Final = {"selector": "value"}
BIG: Final = {"cpu": "1100m"}
ZONE: Final = [spread("zone")]
HOST: Final = [spread("host")]
WAY: Final = [spread("way")]
RACK: Final = "example.com/rack"


def web(count: int, spreads: Sequence[Any] = ZONE, name: str = "a", **more: Any) -> list[Manifest]:
    """Return pods labelled app=app that spread."""
    return pods(name, count, app="app", spreads=spreads, **more)


def apps(app: str, **more: Any) -> list[Manifest]:
    return pods(app, 2, app=app, spreads=[spread("host", app=app)], **more)


def rack(name: str, value: str, **more: Any) -> Manifest:
    """Return a node that is too small for the pods of the cases."""
    return node(name, labels_={RACK: value, **more.pop("labels_", {})}, cpu="100m", **more)


TAINTED: Final = [rack(f"{value}-node", value, taint=["name=value:NoSchedule"]) for value in ("foo", "bar")]
OTHERS: Final = [rack(f"{value}-node", value, labels_={"selector": "other"}) for value in ("foo", "bar")]

CASES: Final[tuple[Case, ...]] = (
    case(
        61,
        "pods spread over a label that no node has",
        pool(),
        pod("a", app="app", spreads=[spread("unknown")]),
        pod("b"),
        refused("a"),
        on("b"),
    ),
    case(
        95,
        "a constraint without selector counts no pods",
        pool(),
        web(2, [spread("zone", app=None)]),
        split("app", "zone", 2),
    ),
    case(111, "four pods spread over three zones", pool(), web(4), split("app", "zone", 1, 1, 2)),
    case(
        124,
        "a selector of expressions counts like one of labels",
        pool(),
        web(
            4,
            [
                spread(
                    "zone",
                    app=None,
                    labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["app"]}]},
                )
            ],
        ),
        split("app", "zone", 1, 1, 2),
    ),
    case(
        145, "a pool of all zones", pool("default", "zone In z1 z2 z3"), web(4), split("app", "zone", 1, 1, 2)
    ),
    case(160, "a pool names two zones", pool("default", "zone In z1 z2"), web(4), split("app", "zone", 2, 2)),
    case(176, "a pool has a zone as a label", pool(labels_={"zone": "z1"}), web(4), split("app", "zone", 4)),
    case(
        191,
        "a pool names two zones and has one as a label",
        pool("default", "zone In z1 z2", labels_={"zone": "z1"}),
        web(4),
        split("app", "zone", 4),
    ),
    case(
        207,
        "two pools have a zone each as a label",
        pool("default", "zone In z1 z2", labels_={"zone": "z1"}),
        pool("other", labels_={"zone": "z2"}),
        web(4),
        split("app", "zone", 2, 2),
    ),
    case(
        235,
        "a pod in a zone that the pool has left counts",
        pool(),
        pod("old", app="app", requests=BIG, select={"zone": "z3"}),
        on("old", zone="z3"),
        pool("default", "zone In z1 z2"),
        web(6, requests=BIG),
        split("app", "zone", 1, 2, 2),
    ),
    case(
        269,
        "the only zone left takes pods until the skew is reached",
        pool("default", "zone In z1"),
        web(1, [spread("zone", skew=5)], "a", requests=BIG),
        split("app", "zone", 1),
        pool("default", "zone In z2"),
        web(1, [spread("zone", skew=5)], "b", requests=BIG),
        split("app", "zone", 1, 1),
        pool("default", "zone In z3"),
        web(10, [spread("zone", skew=5)], "c", requests=BIG),
        split("app", "zone", 1, 1, 6),
    ),
    case(
        311,
        "pods go to the emptiest zones where the skew is exceeded already",
        pool(),
        web(9, requests=BIG),
        split("app", "zone", 3, 3, 3),
        removed("app", but_in="z1"),
        split("app", "zone", 3),
        web(3, name="new", requests=BIG),
        split("app", "zone", 1, 2, 3),
    ),
    case(
        350,
        "two zones that are open take pods until the skew to the third is reached",
        pool("default", "zone In z1"),
        web(1, requests=BIG),
        split("app", "zone", 1),
        pool("default", "zone In z2 z3"),
        web(10, name="b", requests=BIG),
        split("app", "zone", 1, 2, 2),
    ),
    case(
        383,
        "a zone counts in which only pods without the constraint are",
        pool("default", "zone In z1"),
        pod("old", app="app", requests=BIG),
        on("old", zone="z1"),
        pool("default", "zone In z2 z3"),
        web(10, requests=BIG),
        split("app", "zone", 1, 2, 2),
    ),
    case(
        448,
        "one pod with a constraint without selector",
        pool(),
        pod(spreads=[spread("zone", app=None)]),
        split("p", "zone", 1),
    ),
    case(
        460,
        "pods that their own selector does not match share a node",
        pool(),
        pods("p", 5, spreads=HOST),
        together("p"),
    ),
    case(
        485,
        "with fewer zones than minDomains none is to have more than the skew",
        pool("default", "zone In z1 z2"),
        web(3, [spread("zone", minDomains=3)]),
        split("app", "zone", 1, 1),
    ),
    case(
        505,
        "there are as many zones as minDomains says",
        pool("default", "zone In z1 z2 z3"),
        web(11, [spread("zone", minDomains=3)]),
        split("app", "zone", 3, 4, 4),
    ),
    case(
        525,
        "there are more zones than minDomains says",
        pool("default", "zone In z1 z2 z3"),
        web(11, [spread("zone", minDomains=2)]),
        split("app", "zone", 3, 4, 4),
    ),
    case(548, "pods spread over nodes", pool(), web(4, HOST), split("app", "host", 1, 1, 1, 1)),
    case(
        561,
        "a skew of four lets four pods share a node",
        pool(),
        web(4, [spread("host", skew=4)]),
        split("app", "host", 4),
    ),
    case(
        574,
        "two workloads that spread over nodes share them",
        pool(),
        apps("one"),
        apps("two"),
        nodes(2),
        split("one", "host", 1, 1),
        split("two", "host", 1, 1),
    ),
    case(
        610,
        "two workloads of different architectures get nodes of their own",
        pool(),
        apps("one", need=["arch In amd64"]),
        apps("two", need=["arch In arm64"]),
        nodes(4),
    ),
    case(656, "pods spread over capacity types", pool(), web(4, WAY), split("app", "way", 2, 2)),
    case(
        669,
        "a pool names both capacity types",
        pool("default", "way In spot on-demand"),
        web(4, WAY),
        split("app", "way", 2, 2),
    ),
    case(
        684,
        "a pool that turns to on-demand alone takes pods until the skew is reached",
        pool("default", "way In spot"),
        web(1, WAY, requests=BIG),
        split("app", "way", 1),
        pool("default", "way In on-demand"),
        web(5, WAY, "b", requests=BIG),
        split("app", "way", 1, 2),
    ),
    case(
        719,
        "a constraint that may be violated holds nothing up",
        pool("default", "way In spot"),
        web(1, [spread("way", soft=True)], requests=BIG),
        split("app", "way", 1),
        pool("default", "way In on-demand"),
        web(5, [spread("way", soft=True)], "b", requests=BIG),
        waiting("app", 0),
        split("b", "way", 5),
    ),
    case(
        783,
        "one pod spreads over capacity types without selector",
        pool(),
        pod(spreads=[spread("way", app=None)]),
        split("p", "way", 1),
    ),
    case(
        818,
        "what a pod's node affinity rules out does not count",
        pool(),
        pod("old", app="app", need=["zone In z1", "way In on-demand"]),
        on("old", zone="z1", way="on-demand"),
        web(5, WAY, need=["zone In z2", "way In spot"]),
        split("app", "way", 1, 5),
        split("a", "way", 5),
    ),
    case(
        855,
        "an on-demand pod counts for pods that are not bound to a capacity type",
        pool(),
        pod("old", app="app", select={"type": "single-pod"}, need=["way In on-demand"]),
        on("old", way="on-demand"),
        pool("default", "way In spot"),
        web(5, WAY, requests={"cpu": "2"}),
        split("app", "way", 1, 2),
    ),
    case(
        898,
        "pods spread over architectures",
        pool(),
        pod("old", app="app", select={"type": "single-pod"}, need=["arch In amd64"]),
        on("old", arch="amd64"),
        pool("default", "arch In arm64"),
        web(5, [spread("arch")], requests={"cpu": "2"}),
        split("app", "arch", 1, 2),
    ),
    case(
        944,
        "pods spread over zones and nodes at once, batch after batch",
        pool(),
        web(2, [spread("zone"), spread("host", skew=3)], "a"),
        split("app", "zone", 1, 1),
        web(3, [spread("zone"), spread("host", skew=3)], "b"),
        split("app", "zone", 1, 2, 2),
        web(5, [spread("zone"), spread("host", skew=3)], "c"),
        split("app", "zone", 3, 3, 4),
        web(11, [spread("zone"), spread("host", skew=3)], "d"),
        split("app", "zone", 7, 7, 7),
        level("app", "host", 3),
    ),
    case(
        984,
        "a spread over the values of two pools splits spot and on-demand",
        pool("spot", "way In spot", "capacity.spread.4-1 In 2 3 4 5"),
        pool("on-demand", "way In on-demand", "capacity.spread.4-1 In 1"),
        web(20, [spread("capacity.spread.4-1")]),
        split("app", "capacity.spread.4-1", 4, 4, 4, 4, 4),
        split("app", "way", 4, 16),
    ),
    case(
        1052,
        "a zone counts although the pool that has it may buy nothing",
        pool("default", "zone In z1 z2"),
        pool("other", "zone In z3", limits={"cpu": "0"}),
        web(10, [spread("zone"), spread("host", soft=True)]),
        split("app", "zone", 1, 1),
        split("app", "host", 1, 1),
    ),
    case(
        1093,
        "pods spread over capacity types and nodes at once, batch after batch",
        pool(),
        web(2, [spread("way"), spread("host", skew=3)], "a"),
        split("app", "way", 1, 1),
        web(3, [spread("way"), spread("host", skew=3)], "b"),
        split("app", "way", 2, 3),
        web(5, [spread("way"), spread("host", skew=3)], "c"),
        split("app", "way", 5, 5),
        web(11, [spread("way"), spread("host", skew=3)], "d"),
        split("app", "way", 10, 11),
        level("app", "host", 3),
    ),
    case(
        1142,
        "pods of two values of a key in matchLabelKeys spread by themselves",
        pool(),
        web(2, [spread("host", matchLabelKeys=["part"])], "a", labels_={"part": "a"}),
        web(2, [spread("host", matchLabelKeys=["part"])], "b", labels_={"part": "b"}),
        split("app", "host", 2, 2),
    ),
    case(
        1171,
        "a key in matchLabelKeys that pods do not have changes nothing",
        pool(),
        web(4, [spread("host", matchLabelKeys=["part"])]),
        split("app", "host", 1, 1, 1, 1),
    ),
    case(
        1199,
        "tainted nodes are domains where taints are ignored",
        *TAINTED,
        pool(labels_={RACK: "baz"}),
        web(5, [spread(RACK, nodeTaintsPolicy="Ignore")], requests={"cpu": "1"}),
        split("app", RACK, 1),
    ),
    case(
        1270,
        "tainted nodes are no domains where taints are honoured",
        *TAINTED,
        pool(labels_={RACK: "baz"}),
        web(5, [spread(RACK, nodeTaintsPolicy="Honor")], requests={"cpu": "1"}),
        split("app", RACK, 5),
    ),
    case(
        1339,
        "the value of a tainted pool is a domain where taints are ignored",
        pool("default", f"{RACK} In foo"),
        pool("tainted", f"{RACK} In bar", taint=["key=value:NoSchedule"]),
        web(2, [spread(RACK, nodeTaintsPolicy="Ignore")]),
        split("app", RACK, 1),
    ),
    case(
        1395,
        "the value of a tainted pool is no domain where taints are honoured",
        pool("default", f"{RACK} In foo"),
        pool("tainted", f"{RACK} In bar", taint=["key=value:NoSchedule"]),
        web(2, [spread(RACK, nodeTaintsPolicy="Honor")]),
        split("app", RACK, 2),
    ),
    case(
        1451,
        "pools of different taints share a domain, and each has one of its own",
        pool("first", f"{RACK} In foo bar", taint=["key=first:NoSchedule"]),
        pool("second", f"{RACK} In foo baz", taint=["key=second:NoSchedule"]),
        web(2, [spread(RACK, nodeTaintsPolicy="Honor")], "a", tolerate=["key=first:NoSchedule"]),
        web(4, [spread(RACK, nodeTaintsPolicy="Honor")], "b", tolerate=["key=second:NoSchedule"]),
        split("app", RACK, 1, 2, 3),
    ),
    case(
        1532,
        "nodes that pods do not select are domains where affinity is ignored",
        *OTHERS,
        pool(labels_={RACK: "baz", "selector": "value"}),
        web(5, [spread(RACK, nodeAffinityPolicy="Ignore")], requests=ONE, select=SELECTED),
        split("app", RACK, 1),
    ),
    case(
        1599,
        "nodes that pods do not select are no domains where affinity is honoured",
        *OTHERS,
        pool(labels_={RACK: "baz", "selector": "value"}),
        web(5, [spread(RACK, nodeAffinityPolicy="Honor")], requests=ONE, select=SELECTED),
        split("app", RACK, 5),
    ),
    case(
        1665,
        "pods spread over capacity types and zones at once, batch after batch",
        pool(),
        web(2, [*WAY, *ZONE], "a"),
        most("app", "way", 1),
        most("app", "zone", 1),
        web(3, [*WAY, *ZONE], "b"),
        most("app", "way", 3),
        most("app", "zone", 2),
        web(3, [*WAY, *ZONE], "c"),
        most("app", "way", 5),
        most("app", "zone", 4),
        web(11, [*WAY, *ZONE], "d"),
        most("app", "way", 11),
        most("app", "zone", 7),
    ),
    case(
        1705,
        "pods spread over capacity types, zones and nodes at once",
        pool(),
        *(
            step
            for count in (1, 2, 3, 5)
            for step in (
                web(count, [*WAY, spread("zone", skew=2), spread("host", skew=3)], f"batch-{count}"),
                level("app", "way", 1, domains=2),
                level("app", "zone", 2, domains=3),
                level("app", "host", 3),
            )
        ),
        setting=Setting(types=assorted()),
    ),
    case(
        1743,
        "pods that select a zone count that zone alone",
        pool(),
        web(5, name="a", select={"zone": "z1"}),
        web(10, name="b", select={"zone": "z2"}),
        split("app", "zone", 5, 10),
    ),
    case(
        1769,
        "pods that need one of two zones spread over these",
        pool(),
        web(10, need=["zone In z1 z2"]),
        split("app", "zone", 5, 5),
    ),
    case(
        1791,
        "what zones a pod's affinity leaves it differs from pod to pod",
        pool(),
        web(6, name="a", need=["zone In z1 z2"]),
        split("app", "zone", 3, 3),
        web(1, name="b", need=["zone In z2 z3"]),
        split("app", "zone", 1, 3, 3),
        web(5, name="c"),
        split("app", "zone", 4, 4, 4),
    ),
    case(
        1835,
        "preferred zones do not limit a spread",
        pool(),
        web(6, prefer=[(1, ["zone In z1 z2"])]),
        split("app", "zone", 2, 2, 2),
    ),
    case(
        1860,
        "pods that select a capacity type spread over it alone",
        pool(),
        web(5, [spread("way", soft=True)], "a", select={"way": "spot"}),
        web(5, [spread("way", soft=True)], "b", select={"way": "on-demand"}),
        split("app", "way", 5, 5),
    ),
    case(
        1884,
        "what capacity types a pod's affinity leaves it differs from pod to pod",
        pool(),
        web(3, WAY, "a", need=["way In spot"]),
        split("app", "way", 3),
        web(1, WAY, "b", need=["way In spot on-demand"]),
        split("app", "way", 1, 3),
        web(5, WAY, "c"),
        split("app", "way", 4, 5),
    ),
)
