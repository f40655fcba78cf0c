"""The order of evictions: which pods leave a node now, evicted or deleted, and which wait for a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.causes import REPLACED, STOPPING, TAKEN, Cause
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.termination.leaving import Leaving

# Pods that EC2's warning, or we, leave time for stay until their new places are ready.
_WITH_NOTICE: Final = TAKEN | REPLACED | {Cause.REBALANCE_RECOMMENDED}
# If the end of the machine is unknown: how long to wait for a decision on new places of its pods.
_DECIDED_WITHIN: Final = timedelta(seconds=10)
# Pods leave a machine that already ends once places for all of them are decided, or after a second: otherwise
# the pods made in their place would be decided on one after the other, and get more nodes.
_GOING: Final = STOPPING | {Cause.INSTANCE_STATUS, Cause.SYSTEM_STATUS, Cause.UNHEALTHY}
_DECIDED_AT_ONCE: Final = timedelta(seconds=1)
# EC2 takes machines in groups: one with room now may be warned of next, so no pod leaves at once.
_SWARM: Final = timedelta(seconds=5)
# What is left to a machine when the last pod's grace period is over.
_MARGIN: Final = timedelta(seconds=10)
# So much later than it must a pod may be gone: the API server counts from when it was asked.
_SLACK: Final = timedelta(seconds=2)
# Places come to be ready by themselves; a look now and then heals what was not heard.
_LOOK_AGAIN: Final = timedelta(seconds=10)
# Of nodes that go only once their pods have other places: a decision on those is made soon, or not at all.
_PLACED_WITHIN: Final = timedelta(seconds=30)
# New nodes that are not ready by then are not waited for.
_READY_WITHIN: Final = timedelta(minutes=10)
# A pod that loses a place later than this after it was told to go does not wait for another: where no new
# node ever joins it would stay for ever, and nodes be bought for it one after the other.
_PLACED_ANEW_WITHIN: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOut:
    """Evict these pods, and delete those whose time is up (with their seconds of grace).

    Pods that have `sizes` (by uid, the larger the more) are evicted largest first. `in_turn` they wait until
    a second after the eviction of larger ones, also of those on other nodes of the same move.
    """

    evict: tuple[Pod, ...]
    delete: tuple[tuple[Pod, int], ...]
    sizes: Mapping[str, float] = field(default_factory=dict)
    in_turn: bool = False


def places_awaited(pods: Sequence[Pod], state: Leaving, now: datetime) -> datetime | None:
    """Return until when to wait for the new places of these pods; None where all are ready.

    A time that is over says that they will not be had.
    """
    moving = [pod for pod in pods if pod.reschedulable and not pod.protected(now)]
    if all(state.places.get(pod.uid, False) for pod in moving):
        return None
    decided = all(pod.uid in state.places for pod in moving)
    return state.began_at + (_READY_WITHIN if decided else _PLACED_WITHIN)


def move_out(
    waiting: Sequence[Pod], state: Leaving, now: datetime, room: Resources = NOTHING
) -> MoveOut | datetime:
    """Return what to do about the pods that `waiting` are, or when to look at them again.

    Plain pods leave first, then daemons, critical pods and critical daemons. Until their time is up,
    budgets and annotations protect them. Where nothing hurries, pods leave largest first, by their share of
    the `room` of the nodes that go together: the scheduler prefers empty nodes, and small pods that come
    first take up all places where a large one fits.
    """
    if state.cause in _GOING and now < state.told_at + _DECIDED_AT_ONCE and _undecided(waiting, state):
        return state.told_at + _DECIDED_AT_ONCE
    first = min(map(_tier, waiting))
    call = last_call(waiting, state)
    overdue = tuple(
        (pod, _grace(pod, state, now))
        for pod in waiting
        if (pod.active and (_out_of_grace(pod, state, now) or _called(pod, state, now, call, first=first)))
        or _outlasts(pod, state, now)
    )
    late = {pod.uid for pod, _ in overdue}
    turn = [p for p in waiting if _tier(p) == first and p.evictable(now) and p.uid not in late]
    stay = [p for p in turn if _stays(p, state, now, call)]
    if stay and len(stay) == len(turn) and not overdue:
        return _look_at(stay, state, now, call)
    leave = tuple(p for p in turn if p not in stay)
    sizes = {p.uid: _share(p, room) for p in leave} if state.at_will and room else {}
    # Whose end is near does not wait for others.
    in_turn = bool(sizes and state.together) and state.end is None
    return MoveOut(evict=leave, delete=overdue, sizes=sizes, in_turn=in_turn)


def _undecided(waiting: Sequence[Pod], state: Leaving) -> bool:
    return any(p.active and not p.daemon and not p.unread and p.uid not in state.places for p in waiting)


def last_call(waiting: Sequence[Pod], state: Leaving) -> datetime | None:
    """Return until when pods may stay on a machine that EC2 takes; None if its end is unknown.

    That is the end less the longest grace period, and some time to spare. A grace period longer than the
    whole notice concerns its own pod alone.
    """
    if state.ends_at is None:
        return None
    notice = state.ends_at - state.told_at
    needs = (timedelta(seconds=p.spec.grace_seconds) + _MARGIN for p in waiting if p.active)
    return state.ends_at - max((need for need in needs if need <= notice), default=_MARGIN)


def _out_of_grace(pod: Pod, state: Leaving, now: datetime) -> bool:
    """Return whether a pod that leaves any later would still be stopping when the claim is to be gone."""
    return state.deadline is not None and now >= state.deadline - timedelta(seconds=pod.spec.grace_seconds)


def _called(pod: Pod, state: Leaving, now: datetime, call: datetime | None, *, first: int) -> bool:
    """Return whether a pod must go because its machine does: at its own time, or its tier's last call."""
    if state.ends_at is None or call is None or not state.forced:
        return False
    own = state.ends_at - timedelta(seconds=pod.spec.grace_seconds) - _MARGIN
    return now >= own or (_tier(pod) == first and now >= call)


def _outlasts(pod: Pod, state: Leaving, now: datetime) -> bool:
    """Return whether a pod that stops already has been given longer than there is."""
    end = state.end if state.forced else state.deadline
    return end is not None and pod.deleting_since is not None and pod.deleting_since > max(end, now) + _SLACK


def _grace(pod: Pod, state: Leaving, now: datetime) -> int:
    """Return the seconds a pod is given that is deleted now: its own, or what is left of them.

    A pod that stops already was given a time that somebody chose.
    """
    assert state.end is not None  # noqa: S101 (only a known end takes a pod's time away)
    left = int((state.end - now).total_seconds())
    return max(1, min(pod.spec.grace_seconds, left) if pod.active else left)


def _stays(pod: Pod, state: Leaving, now: datetime, call: datetime | None) -> bool:
    """Return whether a pod waits for its new place. A pod that cannot be read never gets one."""
    if state.cause not in _WITH_NOTICE or pod.daemon or pod.unread:
        return False
    ready = state.places.get(pod.uid, False)
    if call is not None:
        return now < call and not (ready and now >= state.told_at + _SWARM)
    return not ready and (pod.uid in state.places or now < _decided_by(pod, state))


def _decided_by(pod: Pod, state: Leaving) -> datetime:
    """Return until when a pod without a place waits for a decision on one.

    A pod may lose the place it was promised: to one the scheduler sent there, or as the new node never comes.
    From a node that goes at will it does not leave until another place was found: somebody runs because of
    it, and nothing ends but a saving.
    """
    within = _READY_WITHIN if state.at_will else _DECIDED_WITHIN
    return min(state.unplaced_since(pod.uid) + within, state.told_at + _PLACED_ANEW_WITHIN)


def _look_at(stay: Sequence[Pod], state: Leaving, now: datetime, call: datetime | None) -> datetime:
    if call is None and (unplaced := [p for p in stay if p.uid not in state.places]):
        return min(_decided_by(pod, state) for pod in unplaced)
    again = now + _LOOK_AGAIN
    if any(state.places.get(p.uid, False) for p in stay):
        again = min(again, state.told_at + _SWARM)
    return again if call is None else min(call, again)


def _share(pod: Pod, room: Resources) -> float:
    """Return the largest share that a pod asks for of anything that a node has, 0 to 1."""
    return max(
        (amount / room[name] for name, amount in pod.spec.requests.items() if room.get(name)), default=0
    )


def _tier(pod: Pod) -> int:
    """Return when a pod's turn to leave is: plain pods, daemons, critical pods, critical daemons."""
    return 2 * pod.critical + pod.daemon
