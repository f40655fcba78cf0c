"""NodePools that break a rule about when their nodes are given back, and the field that must be named."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_pool_tree
from tests.adapters.api.schema.trees import LONG, Refused, budget

_NO_SCHEDULE: Final = ("should match", "is not a cron schedule (such as '0 9 * * 1-5' or @daily)")

_BACKWARDS: Final = (
    "a range that ends before it begins",
    "is a cron schedule with a range that ends before it begins",
)


def _refused_schedule(schedule: str, says: str, reads: str) -> Refused:
    return Refused(
        budget(schedule=schedule, duration="1h"), "spec.disruption.budgets[0].schedule", says, reads
    )


REFUSED_DISRUPTION: Final[dict[str, Refused]] = {
    "fraction of a duration": Refused(
        node_pool_tree(disruption={"consolidateAfter": "1.5h"}),
        "spec.disruption.consolidateAfter",
        "should match",
        '"1.5h" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "long duration": Refused(
        node_pool_tree(disruption={"consolidateAfter": LONG}),
        "spec.disruption.consolidateAfter",
        "must be less than 292 years",
        '"99999999h" is no duration of less than 292 years',
    ),
    "unknown policy": Refused(
        node_pool_tree(disruption={"consolidationPolicy": "WhenUnderutilized"}),
        "spec.disruption.consolidationPolicy",
        'Unsupported value: "WhenUnderutilized"',
        '"WhenUnderutilized" is not one of Balanced, WhenEmpty',
    ),
    "too many budgets": Refused(
        node_pool_tree(disruption={"budgets": [{}] * 51}),
        "spec.disruption.budgets",
        "Too many: 51: must have at most 50 items",
        "has 51 items, 50 at most are allowed",
    ),
    "budget over everything": Refused(
        budget(nodes="101%"),
        "spec.disruption.budgets[0].nodes",
        "should match",
        '"101%" is not a number of nodes or a percentage ("10%")',
    ),
    "unknown reason": Refused(
        budget(reasons=["Expired"]),
        "spec.disruption.budgets[0].reasons[0]",
        'Unsupported value: "Expired"',
        '"Expired" is not one of Drifted, Empty, Underutilized',
    ),
    "half a cron schedule": _refused_schedule("* * *", *_NO_SCHEDULE),
    "minute 99 of a cron schedule": _refused_schedule("99 * * * *", *_NO_SCHEDULE),
    "day 32 of a cron schedule": _refused_schedule("0 0 32 * *", *_NO_SCHEDULE),
    "day 7 of a week in a cron schedule": _refused_schedule("0 0 * * 7", *_NO_SCHEDULE),
    "cron schedule from Friday back to Monday": _refused_schedule("0 0 * * FRI-MON", *_BACKWARDS),
    "cron schedule that runs backwards": _refused_schedule("0 17-9 * * *", *_BACKWARDS),
    "budget for seconds": Refused(
        budget(schedule="@daily", duration="30s"),
        "spec.disruption.budgets[0].duration",
        "should match",
        '"30s" is not a duration of hours and minutes (such as 8h or',
    ),
    "duration without schedule": Refused(
        budget(duration="1h"), "spec.disruption.budgets[0]", "needs schedule and duration, or neither"
    ),
}
