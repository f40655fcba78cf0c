"""DaemonSets, and how much room they leave on a node."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import daemon_set, pod, pool
from tests.conformance.steps.placement import nodes, on, refused
from tests.scenarios.manifests import Manifest

case = Suite("controllers/provisioning/suite_test.go").case

ONE: Final = {"cpu": "1", "memory": "1Gi"}

TWO: Final = {"cpu": "2", "memory": "2Gi"}

HUGE: Final = {"cpu": "10000", "memory": "10000Gi"}

PORT: Final = [{"containerPort": 80, "hostPort": 8080}]

OTHER_PORT: Final = [{"containerPort": 80, "hostPort": 8081}]


def with_daemon(line: int, what: str, type_: str, *, of: Manifest | None = None, **daemon: Any) -> Case:
    """Return a case in which a pod of 1 CPU gets a type that a DaemonSet has room on, or is left out of."""
    return case(line, what, of or pool(), daemon_set(**daemon), pod(requests=ONE), on("p", type=type_))


def too_much(line: int, what: str, **daemon: Any) -> Case:
    """Return a case in which a DaemonSet leaves no pod any room."""
    return case(line, what, pool(), daemon_set(**daemon), pod(), refused("p"))


DAEMONS: Final = (
    with_daemon(935, "a DaemonSet counts", "default", requests=TWO),
    case(
        956,
        "a DaemonSet has the host port of a pod",
        pool(),
        daemon_set(requests=TWO, ports=PORT),
        pod(requests=ONE, ports=PORT),
        refused("p"),
        nodes(0),
    ),
    with_daemon(
        974,
        "a DaemonSet counts on nodes with a startup taint",
        "default",
        of=pool(startup=["foo.com/taint:NoSchedule"]),
        requests=TWO,
    ),
    too_much(1004, "a DaemonSet requests more than any type has", requests=HUGE),
    too_much(1057, "a DaemonSet's limits stand for its requests", requests={"cpu": "1"}, limits=HUGE),
    case(
        1070,
        "the init containers of a DaemonSet count",
        pool(),
        daemon_set(
            requests={"cpu": "1"},
            limits={"cpu": "10000", "memory": "1Gi"},
            initContainers=[
                {
                    "name": "init",
                    "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "10000", "memory": "3Gi"}},
                }
            ],
        ),
        pod(),
        on("p", type="default"),
    ),
    too_much(
        1098,
        "the limits of an init container of a DaemonSet are more than any type has",
        requests={"cpu": "1"},
        limits={"cpu": "10000", "memory": "1Gi"},
        initContainers=[{"name": "init", "resources": {"requests": {"cpu": "1"}, "limits": HUGE}}],
    ),
    too_much(
        1119,
        "an init container of a DaemonSet requests more than any type has",
        initContainers=[{"name": "init", "resources": {"requests": HUGE}}],
    ),
    case(1135, "a DaemonSet requests nothing", pool(), daemon_set(), pod(), on("p")),
    case(
        1143,
        "a DaemonSet does not tolerate a pool's taint",
        pool(taint=["foo=bar:NoSchedule"]),
        daemon_set(requests=TWO),
        pod(requests=ONE, tolerate=[""]),
        on("p", type="small"),
    ),
    with_daemon(1175, "a DaemonSet selects no node", "small", select={"node": "none"}, requests=TWO),
    with_daemon(1197, "a DaemonSet needs no known type", "small", need=["type In none"], requests=TWO),
    with_daemon(
        1219,
        "a DaemonSet selects a label of a pool",
        "default",
        of=pool(labels_={"purpose": "monitoring"}),
        select={"purpose": "monitoring"},
        requests=TWO,
    ),
    case(
        1246,
        "two DaemonSets are for types of different sizes",
        pool(),
        daemon_set("small", need=["size In small"], requests={"cpu": "1"}),
        daemon_set("large", need=["size In large"], requests={"cpu": "10"}),
        pod(requests=ONE),
        on("p", type="default"),
    ),
    case(
        1276,
        "a DaemonSet rules out a label that no node has",
        pool(),
        daemon_set(need=["foo NotIn bar"], requests=TWO),
        pod(requests=ONE, need=["zone In z2"]),
        on("p", type="default", zone="z2"),
    ),
    with_daemon(
        1371,
        "a DaemonSet is for nodes of either of two labels",
        "default",
        of=pool(labels_={"foo": "bar"}),
        either=[["foo In voo"], ["foo In bar"]],
        requests=TWO,
    ),
    with_daemon(
        1431,
        "a DaemonSet prefers nodes that there are not",
        "default",
        prefer=[(1, ["node In invalid"])],
        requests=TWO,
    ),
    with_daemon(
        1459,
        "a taint that would rather have no pods keeps no DaemonSet away",
        "default",
        of=pool(taint=["test:PreferNoSchedule"]),
        requests=TWO,
    ),
    case(
        1496,
        "a host port of a DaemonSet counts where it runs alone",
        pool(),
        daemon_set("large", requests={"cpu": "4", "memory": "4Gi"}, need=["size In large"], ports=PORT),
        daemon_set("small", requests=TWO, need=["size In small"], ports=OTHER_PORT),
        pod(requests=ONE, need=["size In small"], ports=PORT),
        on("p", type="default", size="small"),
    ),
)


CASES: Final[tuple[Case, ...]] = DAEMONS
