"""Windows of disruption budgets: always, or for a while from each time of its schedule on."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.disruption.cron_syntax import first_after
from treenail.domain.model.node_pools import Budget


def counts(budget: Budget, now: datetime) -> bool:
    """Return whether a budget counts at `now`, which is in UTC as its schedule is.

    It does from each time of its schedule on, that instant included, until its duration is over; always, if
    its schedule never comes, as it would without one.
    """
    if not budget.schedule or budget.duration is None:
        return True
    first = first_after(budget.schedule, now - budget.duration)
    return first is None or first <= now


def next_change(budget: Budget, now: datetime) -> datetime | None:
    """Return before when `counts` says the same as at `now`, None where it always does."""
    if not budget.schedule or budget.duration is None:
        return None
    first = first_after(budget.schedule, now - budget.duration)
    return first if first is None or first > now else first + budget.duration
