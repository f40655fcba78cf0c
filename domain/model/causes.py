"""Causes that a node ends for, and what each of them means for budgets, replacements and haste."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """The cause of a node's end, as Karpenter's metrics name it."""

    EMPTY = "empty"
    EXPIRED = "expired"
    DRIFTED = "drifted"
    UNDERUTILIZED = "underutilized"
    SCALED_DOWN = "scaled_down"
    SPOT_INTERRUPTED = "spot_interrupted"
    SCHEDULED_CHANGE = "scheduled_change"
    INSTANCE_STOPPED = "instance_stopped"
    INSTANCE_TERMINATED = "instance_terminated"
    REBALANCE_RECOMMENDED = "rebalance_recommendation"
    CAPACITY_RESERVATION_INTERRUPTED = "capacity_reservation_interrupted"
    INSTANCE_STATUS = "instance_status"
    SYSTEM_STATUS = "system_status"
    EVENT_STATUS = "event_status"
    UNHEALTHY = "unhealthy"
    INSUFFICIENT_CAPACITY = "insufficient_capacity"
    LAUNCH_FAILED = "launch_failed"
    NODE_CLASS_NOT_READY = "nodeclass_not_ready"
    LAUNCH_TIMEOUT = "launch_timeout"
    REGISTRATION_TIMEOUT = "registration_timeout"
    GARBAGE_COLLECTED = "garbage_collected"
    DELETED = "deleted"


# The reasons budgets know, by cause. A cause that is not here asks no budget.
BUDGETED: dict[Cause, str] = {
    Cause.EMPTY: "Empty",
    Cause.EXPIRED: "Expired",
    Cause.DRIFTED: "Drifted",
    Cause.UNDERUTILIZED: "Underutilized",
    Cause.SCALED_DOWN: "ScaledDown",
}


# Those that are no decision of ours to Karpenter's metrics: a lifetime and a pool's size are what people set.
NO_CHOICE: frozenset[Cause] = frozenset({Cause.EXPIRED, Cause.SCALED_DOWN})


# Those for which nodes are replaced: other places for their pods are decided on first.
REPLACED: frozenset[Cause] = frozenset({Cause.EXPIRED, Cause.DRIFTED, Cause.UNDERUTILIZED})


# Those for which pods leave a node at once that nobody had planned to: other places are urgent.
PLACED_ANEW: frozenset[Cause] = REPLACED | {Cause.SCALED_DOWN}


# Those that Karpenter calls consolidation.
CONSOLIDATION: frozenset[Cause] = frozenset({Cause.EMPTY, Cause.UNDERUTILIZED})


# Causes that EC2 also reports after our own terminations.
STOPPING: frozenset[Cause] = frozenset({Cause.INSTANCE_STOPPED, Cause.INSTANCE_TERMINATED})


# Those for which EC2 takes the machine, and says so before: nothing holds it up.
TAKEN: frozenset[Cause] = frozenset(
    {
        Cause.SPOT_INTERRUPTED,
        Cause.SCHEDULED_CHANGE,
        Cause.EVENT_STATUS,
        Cause.CAPACITY_RESERVATION_INTERRUPTED,
    }
)
