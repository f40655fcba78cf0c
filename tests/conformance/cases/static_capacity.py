"""Static pools: nodes made up to the replicas, taken down to them, and replaced one for one by drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import FREE, daemon_set, pod, pool
from tests.conformance.stage import Setting, Step
from tests.conformance.steps.changes import deleted, passes
from tests.conformance.steps.endings import ended, first_wave, most_at_once
from tests.conformance.steps.machines import instances
from tests.conformance.steps.objects_told import taints_of
from tests.conformance.steps.placement import claims, gone, nodes, noted, on, running, same
from tests.scenarios.manifests import Manifest

ONE_SIZE: Final = (Size(name="default", pods=50),)
ON: Final = Setting(scheduler=True, types=ONE_SIZE, system={"static_capacity": True})
GROWING: Final = Suite("controllers/static/provisioning/suite_test.go", ON)
SHRINKING: Final = Suite("controllers/static/deprovisioning/suite_test.go", ON)
DRIFT: Final = Suite("controllers/disruption/staticdrift_test.go", ON)
PODS: Final = Suite("controllers/provisioning/suite_test.go", ON)
KEEP: Final = {"karpenter.sh/do-not-disrupt": "true"}
NEW: Final[dict[str, Any]] = {"labels_": {"rev": "two"}}
NO_BUDGETS: Final = "here budgets bound how many nodes go at a time; in Karpenter they do not"


def static(
    replicas: int, *need: str, name: str = "default", nodes_: int | None = None, **more: Any
) -> Manifest:
    """Return a static pool whose budgets let all nodes go."""
    limits: Mapping[str, str] | None = None if nodes_ is None else {"nodes": str(nodes_)}
    made = pool(name, *need, **{"budgets": FREE, "limits": limits, **more})
    return {**made, "spec": {**made["spec"], "replicas": replicas}}


def at_most(count: str) -> Any:
    return ({"nodes": count},)


def filling(name: str, **more: Any) -> Manifest:
    """Return a pod that leaves no room on its node for another."""
    return pod(name, app=name, requests={"cpu": "3"}, **more)


def stays(count: int) -> tuple[Step, ...]:
    return claims(count), nodes(count), instances(count)


CREATING: Final = (
    GROWING.case(
        174,
        "a pool that is being deleted gets no nodes",
        static(2),
        passes("1m"),
        nodes(2),
        deleted("NodePool", "default"),
        passes("2m"),
        *stays(0),
    ),
    GROWING.case(188, "a pool without replicas gets no nodes", pool(), passes("2m"), *stays(0)),
    GROWING.case(201, "a pool that has its nodes gets no more", static(2), passes("5m"), *stays(2)),
    GROWING.case(250, "a pool gets as many nodes as its replicas", static(3), passes("1m"), *stays(3)),
    GROWING.case(
        270,
        "more replicas get the nodes that lack",
        static(2),
        passes("1m"),
        nodes(2),
        static(5),
        passes("1m"),
        *stays(5),
    ),
    GROWING.case(305, "nodes on their way count", static(3), passes(2), claims(3), passes("1m"), *stays(3)),
    GROWING.case(356, "limits bound the nodes", static(10, nodes_=5), passes("3m"), *stays(5)),
    GROWING.case(441, "no replicas, no nodes", static(0), passes("2m"), *stays(0)),
    GROWING.case(
        456,
        "nodes are as the template says",
        static(1, taint=("team=a:NoSchedule",), labels_={"rev": "one"}),
        passes("1m"),
        pod("p", tolerate=("team=a:NoSchedule",), select={"rev": "one"}),
        on("p", rev="one"),
        taints_of("p", "team=a:NoSchedule"),
        *stays(1),
    ),
    GROWING.case(512, "many replicas", static(100), passes("2m"), *stays(100)),
    GROWING.case(
        527,
        "a limit holds while replicas change",
        static(10, nodes_=5),
        passes(1),
        static(20, nodes_=5),
        passes(1),
        static(30, nodes_=5),
        passes("3m"),
        *stays(5),
    ),
    PODS.case(
        2848,
        "pods get no nodes from a static pool",
        static(1),
        passes("1m"),
        filling("a"),
        filling("b"),
        passes("2m"),
        running(1),
        *stays(1),
    ),
    PODS.case(
        2859,
        "pods go to the nodes of a static pool before others are bought",
        static(1),
        pool("other"),
        passes("1m"),
        filling("a"),
        on("a"),
        *stays(1),
        filling("b"),
        *stays(2),
    ),
)
TAKING: Final = (
    SHRINKING.case(
        151, "a pool without replicas keeps its nodes", pool(), filling("a"), passes("5m"), *stays(1)
    ),
    SHRINKING.case(
        197, "a pool that has its nodes, or fewer, keeps them", static(3, nodes_=2), passes("5m"), *stays(2)
    ),
    SHRINKING.case(
        235,
        "nodes on their way out do not count",
        static(3),
        passes("1m"),
        nodes(3),
        static(2),
        passes("3m"),
        *stays(2),
    ),
    SHRINKING.case(
        284,
        "fewer replicas take the nodes that are too many",
        static(5),
        passes("1m"),
        nodes(5),
        static(2),
        passes("2m"),
        *stays(2),
        ended(scaled_down=3),
    ),
    SHRINKING.case(
        323,
        "no replicas take all nodes",
        static(3),
        passes("1m"),
        nodes(3),
        static(0),
        passes("2m"),
        *stays(0),
    ),
    SHRINKING.case(369, "a pool without nodes has none to give up", static(0), passes("5m"), *stays(0)),
    SHRINKING.case(
        513,
        "empty nodes go first, those with daemons alone among them",
        daemon_set("d"),
        static(2),
        passes("1m"),
        filling("a"),
        on("a"),
        noted("a"),
        static(1),
        passes("2m"),
        same("a", "a"),
        *stays(1),
    ),
    SHRINKING.case(
        579,
        "nodes with pods go where there are too few empty ones",
        static(3),
        passes("1m"),
        filling("a"),
        filling("b"),
        static(1),
        passes("2m"),
        *stays(1),
    ),
    SHRINKING.case(
        763,
        "the empty one first, of low, high and do-not-disrupt",
        static(4),
        passes("1m"),
        filling("low"),
        filling("high", priority=1000000000),
        filling("kept", annotations=KEEP),
        noted("low"),
        noted("high"),
        noted("kept"),
        static(3),
        passes("2m"),
        same("low", "low"),
        same("high", "high"),
        same("kept", "kept"),
        *stays(3),
    ),
    SHRINKING.case(
        764,
        "then the one that costs little",
        static(4),
        passes("1m"),
        filling("low"),
        filling("high", priority=1000000000),
        filling("kept", annotations=KEEP),
        noted("low"),
        noted("high"),
        noted("kept"),
        static(2),
        passes("2m"),
        gone("low"),
        same("high", "high"),
        same("kept", "kept"),
        *stays(2),
    ),
    SHRINKING.case(
        765,
        "then the one that costs more",
        static(4),
        passes("1m"),
        filling("low"),
        filling("high", priority=1000000000),
        filling("kept", annotations=KEEP),
        noted("low"),
        noted("high"),
        noted("kept"),
        static(1),
        passes("2m"),
        gone("low"),
        gone("high"),
        same("kept", "kept"),
        *stays(1),
    ),
    SHRINKING.case(
        284,
        "no more at a time than budgets let go",
        static(5, budgets=at_most("1")),
        passes("1m"),
        static(2, budgets=at_most("1")),
        passes("5m"),
        *stays(2),
        most_at_once(2),
        differs=NO_BUDGETS,
    ),
)
DRIFTING: Final = (
    DRIFT.case(
        84,
        "a budget of nodes bounds how many drift",
        static(4, budgets=at_most("2")),
        passes("1m"),
        static(4, budgets=at_most("2"), **NEW),
        passes(20),
        first_wave(2),
        passes("5m"),
        *stays(4),
        ended(drifted=4),
    ),
    DRIFT.case(
        143,
        "a budget in percent bounds how many drift",
        static(4, budgets=at_most("50%")),
        passes("1m"),
        static(4, budgets=at_most("50%"), **NEW),
        passes(20),
        first_wave(2),
        passes("5m"),
        *stays(4),
        ended(drifted=4),
    ),
    DRIFT.case(
        367,
        "nothing drifts where limits leave no room",
        static(5, nodes_=5),
        passes("1m"),
        static(5, nodes_=5, **NEW),
        passes("10m"),
        *stays(5),
        ended(),
    ),
    DRIFT.case(
        405,
        "nodes drift where limits leave room",
        static(3, nodes_=6),
        passes("1m"),
        static(3, nodes_=6, **NEW),
        passes("10m"),
        *stays(3),
        ended(drifted=3),
    ),
    DRIFT.case(
        463,
        "as many drift as limits leave room for",
        static(5, nodes_=7),
        passes("1m"),
        static(5, nodes_=7, **NEW),
        passes(20),
        first_wave(2),
        passes("15m"),
        *stays(5),
        ended(drifted=5),
    ),
    DRIFT.case(
        578,
        "nodes that are too many go before any is replaced",
        static(4),
        passes("1m"),
        static(2, **NEW),
        passes("10m"),
        *stays(2),
        ended(drifted=4),
        differs="all are given up as drifted, two of them without a replacement",
    ),
    DRIFT.case(
        670,
        "pools drift each for itself",
        static(2),
        static(3, name="other"),
        passes("1m"),
        static(2, **NEW),
        passes("5m"),
        *stays(5),
        ended(drifted=2),
    ),
    DRIFT.case(
        826, "no replicas, nothing drifts", static(0), passes("1m"), static(0, **NEW), passes("2m"), *stays(0)
    ),
    DRIFT.case(
        838,
        "without limits nodes drift",
        static(2),
        passes("1m"),
        static(2, **NEW),
        passes("5m"),
        *stays(2),
        ended(drifted=2),
    ),
    DRIFT.case(876, "what did not drift stays", static(2), passes("10m"), *stays(2), ended()),
    DRIFT.case(
        908,
        "a node with a pod that may not be disrupted is not replaced",
        static(1),
        passes("1m"),
        filling("kept", annotations=KEEP),
        static(1, **NEW),
        passes("10m"),
        *stays(1),
        running(1),
    ),
)
CASES: Final[tuple[Case, ...]] = (*CREATING, *TAKING, *DRIFTING)
