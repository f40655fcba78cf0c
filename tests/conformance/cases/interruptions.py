"""Nodes that EC2 takes, that are unhealthy, or whose instance is lost."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import (
    FREE,
    budget,
    deployment,
    pool,
    term,
)
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import passes
from tests.conformance.steps.endings import counted, ended
from tests.conformance.steps.machines import (
    impaired,
    interrupted,
    message,
    queue_is_empty,
    sickened,
    stopped,
    terminated_outside,
)
from tests.conformance.steps.objects_told import event
from tests.conformance.steps.placement import gone, nodes, noted, other, running, same
from treenail.domain.disruption.node_repair import EC2_POLICIES

REAL: Final = Setting(scheduler=True, types=(Size(name="default", pods=50),))

AWS: Final = Suite("aws/controllers/interruption/suite_test.go", REAL)

REPAIR: Final = Suite(
    "controllers/node/health/suite_test.go",
    Setting(scheduler=True, types=REAL.types, system={"repair": EC2_POLICIES}),
)

GARBAGE: Final = Suite("controllers/nodeclaim/garbagecollection/suite_test.go", REAL)

KEEP: Final = {"karpenter.sh/do-not-disrupt": "true"}

SPOT: Final = "way In spot"


def one(**more: Any) -> tuple[Given, ...]:
    """Return the steps that put a pod of a Deployment on a node."""
    return pool("default", SPOT, budgets=FREE), deployment("web", **more), nodes(1), noted("web")


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


CASES: Final[tuple[Case, ...]] = (*TAKEN, *UNHEALTHY, *LOST)
