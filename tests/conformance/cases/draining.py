"""Nodes on their way out: drained in order, and within their grace period."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import (
    FREE,
    budget,
    daemon_set,
    deployment,
    node,
    pod,
    pool,
)
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import deleted, passes
from tests.conformance.steps.endings import ended, order_of_ends
from tests.conformance.steps.machines import (
    terminated_outside,
)
from tests.conformance.steps.objects_told import annotated_claim, event, labelled_node, taints_of
from tests.conformance.steps.placement import claims, ending, gone, nodes, noted, on, running, same

REAL: Final = Setting(scheduler=True, types=(Size(name="default", pods=50),))

SLOW_ENDS: Final = Setting(scheduler=True, types=REAL.types, cluster={"stop": (8000, 8000)})

ENDING: Final = Suite("controllers/node/termination/suite_test.go", REAL)

EVICTION: Final = Suite("controllers/node/termination/terminator/suite_test.go", REAL)

CLAIM_ENDS: Final = Suite("controllers/nodeclaim/lifecycle/termination_test.go", REAL)

KEEP: Final = {"karpenter.sh/do-not-disrupt": "true"}

DISRUPTED: Final = "karpenter.sh/disrupted"

SPOT: Final = "way In spot"


def one(**more: Any) -> tuple[Given, ...]:
    """Return the steps that put a pod of a Deployment on a node."""
    return pool("default", SPOT, budgets=FREE), deployment("web", **more), nodes(1), noted("web")


def tolerating(toleration: dict[str, str]) -> tuple[Given, ...]:
    return (
        pool(budgets=FREE),
        deployment("web"),
        deployment("stays", tolerations=[{"key": DISRUPTED, **toleration}]),
        nodes(1),
    )


NODES: Final = (
    ENDING.case(112, "a deleted node ends", *one(), deleted("Node", "web"), passes("2m"), gone("web")),
    ENDING.case(
        152,
        "with a deleted node its claim ends",
        *one(),
        deleted("Node", "web"),
        passes("2m"),
        gone("web"),
        claims(1),
        ended(deleted=1),
    ),
    ENDING.case(
        143,
        "a node that is not ours is left alone",
        node("foreign"),
        pool(budgets=FREE),
        deployment("web", requests={"cpu": "1m"}),
        on("web", host="foreign"),
        passes("10m"),
        on("web", host="foreign"),
        claims(0),
    ),
    ENDING.case(
        202,
        "a node that ends is taken out of load balancers",
        *one(),
        budget("web", "web", maxUnavailable=0),
        deleted("Node", "web"),
        passes("1m"),
        labelled_node("node.kubernetes.io/exclude-from-external-load-balancers", "karpenter"),
    ),
    ENDING.case(
        225,
        "a pod that tolerates the taint of nodes that end is not evicted (Equal)",
        *tolerating({"operator": "Equal", "value": "", "effect": "NoSchedule"}),
        deleted("Node", "web"),
        passes("2m"),
        event("Evicted", about="Pod", times=1),
    ),
    ENDING.case(
        256,
        "a pod that tolerates the taint of nodes that end is not evicted (Exists)",
        *tolerating({"operator": "Exists", "effect": "NoSchedule"}),
        deleted("Node", "web"),
        passes("2m"),
        event("Evicted", about="Pod", times=1),
    ),
    ENDING.case(
        289,
        "a pod that tolerates unschedulable nodes is evicted",
        pool(budgets=FREE),
        deployment(
            "web",
            tolerations=[
                {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
            ],
        ),
        nodes(1),
        deleted("Node", "web"),
        passes("2m"),
        event("Evicted", about="Pod", times=1),
    ),
    ENDING.case(
        317,
        "a pod that nothing owns is evicted",
        pool(budgets=FREE),
        pod("lone"),
        nodes(1),
        deleted("Node", "lone"),
        passes("2m"),
        event("Evicted", about="Pod", times=1),
        nodes(0),
    ),
    ENDING.case(
        368,
        "a budget keeps a pod, and its node waits",
        *one(),
        budget("web", "web", minAvailable=1),
        deleted("Node", "web"),
        passes("10m"),
        same("web", "web"),
        event("FailedDraining", about="Node"),
    ),
    ENDING.case(
        415,
        "pods are evicted in four tiers, each when the one before is gone",
        pool(budgets=FREE),
        daemon_set("d-plain", priorityClassName="", grace=30),
        daemon_set("d-critical", priorityClassName="system-node-critical", grace=30),
        pod("plain", grace=30),
        pod("critical", priorityClassName="system-cluster-critical", grace=30),
        nodes(1),
        deleted("Node", "plain"),
        passes("5m"),
        order_of_ends("plain", "d-plain", "critical", "d-critical"),
        setting=Setting(scheduler=True, types=REAL.types, cluster={"stop": (10, 10)}),
    ),
    ENDING.case(
        564,
        "a node stays until the last of its pods is gone",
        pool(budgets=FREE),
        pod("quick"),
        pod("slow", grace=300),
        nodes(1),
        deleted("Node", "quick"),
        passes("4m"),
        nodes(1),
        passes("3m"),
        nodes(0),
        setting=SLOW_ENDS,
    ),
    ENDING.case(
        609,
        "a node whose instance is gone ends, whatever is left on it",
        *one(grace=3000),
        terminated_outside(),
        passes("5m"),
        gone("web"),
        setting=SLOW_ENDS,
    ),
    ENDING.case(
        675,
        "a pod that ends for longer than its grace period holds no node up",
        *one(grace=30),
        deleted("Node", "web"),
        passes("5m"),
        gone("web"),
        setting=SLOW_ENDS,
    ),
    ENDING.case(
        751,
        "a pod whose grace period is that of its node is deleted at once",
        pool(budgets=FREE, grace="300s"),
        deployment("web", annotations=KEEP, grace=300),
        nodes(1),
        noted("web"),
        deleted("Node", "web"),
        passes("7m"),
        gone("web"),
        running(1),
    ),
    ENDING.case(
        810,
        "a pod is deleted so early that its grace period ends with that of its node",
        pool(budgets=FREE, grace="300s"),
        budget("web", "web", maxUnavailable=0),
        deployment("web", grace=60),
        nodes(1),
        noted("web"),
        deleted("Node", "web"),
        passes("200s"),
        ending("web", 0),
        passes("90s"),
        ending("web", 1),
        passes("3m"),
        gone("web"),
        setting=SLOW_ENDS,
    ),
    ENDING.case(
        845,
        "a pod that ends already is cut short by the end of its node",
        pool(budgets=FREE, grace="300s"),
        deployment("web", grace=6000),
        nodes(1),
        noted("web"),
        deleted("Pod", "web"),
        deleted("Node", "web"),
        passes("7m"),
        gone("web"),
        setting=SLOW_ENDS,
    ),
    ENDING.case(
        880,
        "a node is tainted while it drains",
        *one(),
        budget("web", "web", maxUnavailable=0),
        deleted("NodeClaim", "web"),
        passes("30s"),
        taints_of("web", f"{DISRUPTED}=:NoSchedule"),
    ),
    CLAIM_ENDS.case(
        126,
        "a deleted claim ends with its node and its instance",
        *one(),
        deleted("NodeClaim", "web"),
        passes("2m"),
        gone("web"),
        ended(deleted=1),
    ),
    CLAIM_ENDS.case(
        350,
        "a claim with a grace period says when it ends",
        pool(budgets=FREE, grace="1h"),
        deployment("web"),
        budget("web", "web", maxUnavailable=0),
        nodes(1),
        deleted("NodeClaim", "web"),
        passes("30s"),
        annotated_claim("karpenter.sh/nodeclaim-termination-timestamp", there=True),
    ),
    CLAIM_ENDS.case(
        329,
        "a claim without a grace period says nothing of when it ends",
        *one(),
        budget("web", "web", maxUnavailable=0),
        deleted("NodeClaim", "web"),
        passes("30s"),
        annotated_claim("karpenter.sh/nodeclaim-termination-timestamp", there=False),
    ),
    EVICTION.case(
        144,
        "two budgets for one pod keep it",
        *one(),
        budget("one", "web", maxUnavailable=1),
        budget("two", "web", maxUnavailable=1),
        deleted("Node", "web"),
        passes("10m"),
        same("web", "web"),
    ),
)


CASES: Final[tuple[Case, ...]] = NODES
