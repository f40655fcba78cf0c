"""Nodes on their way out: drained in order, within their grace period; taken by EC2; unhealthy; or lost."""

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
    term,
)
from tests.conformance.stage import Setting
from tests.conformance.steps import (
    annotated_claim,
    claims,
    counted,
    deleted,
    ended,
    ending,
    event,
    gone,
    impaired,
    interrupted,
    labelled_node,
    message,
    nodes,
    noted,
    on,
    order_of_ends,
    other,
    passes,
    queue_is_empty,
    running,
    same,
    sickened,
    stopped,
    taints_of,
    terminated_outside,
)
from treenail.domain.disruption.node_repair import EC2_POLICIES

REAL: Final = Setting(scheduler=True, types=(Size(name="default", pods=50),))
SLOW_ENDS: Final = Setting(scheduler=True, types=REAL.types, cluster={"stop": (8000, 8000)})
ENDING: Final = Suite("controllers/node/termination/suite_test.go", REAL)
EVICTION: Final = Suite("controllers/node/termination/terminator/suite_test.go", REAL)
CLAIM_ENDS: Final = Suite("controllers/nodeclaim/lifecycle/termination_test.go", REAL)
AWS: Final = Suite("aws/controllers/interruption/suite_test.go", REAL)
REPAIR: Final = Suite(
    "controllers/node/health/suite_test.go",
    Setting(scheduler=True, types=REAL.types, system={"repair": EC2_POLICIES}),
)
GARBAGE: Final = Suite("controllers/nodeclaim/garbagecollection/suite_test.go", REAL)
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

TAKEN: Final = (
    AWS.case(
        137,
        "a spot interruption ends the node, and its message is deleted",
        *one(),
        interrupted(),
        passes("4m"),
        gone("web"),
        ended(spot_interrupted=1),
        counted("karpenter_nodeclaims_disrupted_total", 1, reason="spot_interrupted", nodepool="default"),
        queue_is_empty(),
        running(1),
    ),
    *(
        AWS.case(
            188,
            f"an instance that is {what} ends its node",
            pool("default", "way In on-demand", budgets=FREE),
            deployment("web"),
            nodes(1),
            noted("web"),
            step,
            passes("5m"),
            gone("web"),
            running(1),
            queue_is_empty(),
        )
        for what, step in (("stopped", stopped()), ("terminated", terminated_outside()))
    ),
    AWS.case(
        175,
        "a scheduled change ends the node",
        *one(),
        message(
            {
                "version": "0",
                "source": "aws.health",
                "time": "2026-01-01T00:00:00Z",
                "detail-type": "AWS Health Event",
                "detail": {
                    "service": "EC2",
                    "eventTypeCategory": "scheduledChange",
                    "eventTypeCode": "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",
                    "affectedEntities": [{"entityValue": "{instance}"}],
                },
            }
        ),
        passes("4m"),
        gone("web"),
        counted("karpenter_nodeclaims_disrupted_total", 1, reason="scheduled_change", nodepool="default"),
        running(1),
        queue_is_empty(),
    ),
    AWS.case(
        221,
        "twenty messages end twenty nodes",
        pool("default", SPOT, budgets=FREE),
        deployment("web", 20, apart=[term("web")]),
        nodes(20),
        interrupted(20),
        passes("5m"),
        ended(spot_interrupted=20),
        running(20),
        queue_is_empty(),
    ),
    AWS.case(
        255,
        "a message that means nothing is deleted",
        *one(),
        message({"field1": "value1", "field2": "value2"}),
        passes("1m"),
        queue_is_empty(),
        same("web", "web"),
    ),
    AWS.case(
        270,
        "a message on a state that does not matter is deleted",
        *one(),
        message(
            {
                "version": "0",
                "source": "aws.ec2",
                "time": "2026-01-01T00:00:00Z",
                "detail-type": "EC2 Instance State-change Notification",
                "detail": {"instance-id": "{instance}", "state": "creating"},
            }
        ),
        passes("1m"),
        queue_is_empty(),
        same("web", "web"),
    ),
    AWS.case(
        279,
        "what was interrupted is not bought again for a while",
        *one(),
        noted("web", "zone"),
        interrupted(),
        passes("3m"),
        other("web", "web"),
        other("web", "web", "zone"),
    ),
    AWS.case(
        361,
        "an instance whose status check fails is replaced",
        *one(),
        impaired(),
        passes("20m"),
        gone("web"),
        ended(instance_status=1),
        running(1),
    ),
    AWS.case(
        321,
        "an instance whose host fails its check is replaced",
        *one(),
        impaired("system_status"),
        passes("20m"),
        gone("web"),
        ended(system_status=1),
        running(1),
    ),
    AWS.case(
        424,
        "a planned retirement ends the node as its pods allow",
        *one(),
        impaired("event_status"),
        passes("10m"),
        gone("web"),
        ended(event_status=1),
        running(1),
    ),
    AWS.case(
        396,
        "nothing holds up a node whose host fails its check",
        *one(annotations=KEEP),
        budget("web", "web", maxUnavailable=0),
        impaired("system_status"),
        passes("20m"),
        gone("web"),
        ended(system_status=1),
    ),
)

UNHEALTHY: Final = (
    REPAIR.case(
        98, "an unhealthy node is replaced", *one(), sickened(), passes("40m"), ended(unhealthy=1), running(1)
    ),
    REPAIR.case(
        112,
        "a condition that nobody minds keeps a node",
        *one(),
        sickened("FakeHealthyNode", "False"),
        passes("60m"),
        nodes(1),
        ended(),
    ),
    REPAIR.case(
        140,
        "a node is unhealthy for too short a time",
        *one(),
        sickened(),
        passes("25m"),
        ended(),
        nodes(1),
    ),
    REPAIR.case(
        251,
        "an unhealthy node goes whatever budgets say",
        pool(budgets=({"nodes": "0"},)),
        deployment("web"),
        nodes(1),
        sickened(),
        passes("40m"),
        ended(unhealthy=1),
    ),
    REPAIR.case(
        273,
        "an unhealthy node goes though it is annotated not to be disrupted",
        pool(annotations=KEEP, budgets=FREE),
        deployment("web", annotations=KEEP),
        nodes(1),
        sickened(),
        passes("40m"),
        ended(unhealthy=1),
    ),
    REPAIR.case(
        288,
        "where more than a fifth of a pool is unhealthy none is replaced",
        pool(budgets=FREE),
        deployment("web", 8, apart=[term("web")]),
        nodes(8),
        sickened(count=3),
        passes("60m"),
        ended(),
        event("NodeRepairBlocked"),
    ),
    REPAIR.case(
        359,
        "a fifth of few nodes is one at least",
        pool(budgets=FREE),
        deployment("web", 3, apart=[term("web")]),
        nodes(3),
        sickened(count=1),
        passes("60m"),
        ended(unhealthy=1),
    ),
    REPAIR.case(
        386,
        "an unhealthy node is counted",
        *one(),
        sickened(),
        passes("40m"),
        counted("karpenter_nodeclaims_unhealthy_disrupted_total", 1, nodepool="default"),
    ),
)

LOST: Final = (
    GARBAGE.case(
        85,
        "a claim whose instance is gone ends",
        *one(),
        terminated_outside(),
        passes("5m"),
        gone("web"),
        running(1),
        nodes(1),
    ),
    GARBAGE.case(
        136,
        "many claims whose instances are gone end",
        pool(budgets=FREE),
        deployment("web", 10, apart=[term("web")]),
        nodes(10),
        terminated_outside(10),
        passes("10m"),
        running(10),
        nodes(10),
    ),
    GARBAGE.case(
        201, "a claim whose instance is there stays", *one(), passes("30m"), same("web", "web"), ended()
    ),
)

CASES: Final[tuple[Case, ...]] = (*NODES, *TAKEN, *UNHEALTHY, *LOST)
