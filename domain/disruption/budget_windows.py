"""Windows of disruption budgets: always, or for a while from each time of its schedule on."""

from __future__ import annotations

from datetime import datetime

from cronsim import CronSim, CronSimError

from treenail.domain.disruption.cron_syntax import plainly
from treenail.domain.model.node_pools import Budget


def counts(budget: Budget, now: datetime) -> bool:
    """Return whether a budget counts at `now`, which is in UTC as its schedule is.

    It does from each time of its schedule on, that instant included, until its duration is over; always, if
    its schedule never comes, as it would without one.
    """
    if not budget.schedule or budget.duration is None:
        return True
    first = _first(budget.schedule, now - budget.duration)
    return first is None or first <= now


def _first(schedule: str, after: datetime) -> datetime | None:
    """Return the first time of a schedule after an instant, None where it never comes."""
    plain = plainly(schedule)
    try:
        return None if plain is None else next(CronSim(plain, after), None)
    except CronSimError:
        # No month of it has such a day.
        return None
