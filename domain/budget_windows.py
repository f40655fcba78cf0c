"""When a budget of disruptions counts: always, or for a while from each time of its schedule on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from cronsim import CronSim, CronSimError

from treenail.domain.node_pools import Budget

_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
# Six fields begin with seconds, which Kubernetes' schedules do not have.
_FIELDS: Final = 5
# From any time on a schedule is looked through for 50 years: where it never comes, it says the same of all.
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


def schedule_problem(schedule: str) -> str | None:
    """Return what is wrong with a cron schedule, None where it can be followed."""
    try:
        next(_times(schedule, _ANY_TIME))
    except CronSimError as problem:
        return str(problem).lower()
    except StopIteration:
        return "never comes"
    return None


def counts(budget: Budget, now: datetime) -> bool:
    """Tell whether a budget counts at `now`, which is in UTC as its schedule is.

    It does from each time of its schedule on, that instant included, until its duration is over.
    """
    if not budget.schedule or budget.duration is None:
        return True
    last = next(_times(budget.schedule, now - budget.duration), None)
    return last is not None and last <= now


def _times(schedule: str, after: datetime) -> CronSim:
    """Return the times of a schedule after an instant; CronSimError where it cannot be followed."""
    fields = _NICKNAMES.get(schedule, schedule).split()
    if len(fields) != _FIELDS:
        raise CronSimError("wrong number of fields")
    # "Any day" may be written either way where both kinds of day are asked for.
    return CronSim(" ".join("*" if f == "?" else f for f in fields), after)
