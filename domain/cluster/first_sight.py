"""First sight: times in objects that cannot be right are replaced by when they were first seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from treenail.domain.model.nodes import Condition, Node, NodeClaim
from treenail.domain.model.pods import Pod

T = TypeVar("T", bound=Pod | Node | NodeClaim)

# A change is heard of within this time, or clocks disagree.
_HEARD_WITHIN: Final = timedelta(minutes=2)
_OF_PODS: Final = ("created_at", "unschedulable_since", "scheduled_at", "started_at", "deleting_since")
_OF_NODES: Final = ("created_at", "deleting_since")
_OF_CLAIMS: Final = (*_OF_NODES, "last_pod_event_at")


class FirstSight:
    """Times in objects that cannot be right, and the times that are used in their place.

    What is in the future has just happened. What is new to us has just happened too, once all objects were
    known: by a clock that was set back, a new claim would be an hour old, and given up at once. A corrected
    time is kept as long as the object says the same.
    """

    def __init__(self) -> None:
        # By uid and field: the time in the object, and the time used in its place.
        self._dated: dict[str, dict[str, tuple[datetime, datetime]]] = {}
        self._complete_at: datetime | None = None

    def complete(self, now: datetime) -> None:
        """Note that everything there is is known."""
        self._complete_at = now

    def forget(self, uid: str) -> None:
        """Note that an object is gone."""
        self._dated.pop(uid, None)

    def date(self, thing: T, known: object, now: datetime, *, listed: bool) -> T:
        """Return an object with times to go by. `known` is what was returned for it last.

        One that was `listed` may be as old as the list before, one that the watch told of is as of now.
        """
        since = self._complete_at
        if since is not None and not listed:
            since = now
        earliest = since - _HEARD_WITHIN if since is not None else None
        changes: dict[str, Any] = {}
        for name in _fields(thing):
            at = getattr(thing, name)
            if at is not None:
                going_by = getattr(known, name, None)
                dated = self._at(thing, name, at, going_by, earliest, now)
                if dated != at:
                    changes[name] = dated
        if not isinstance(thing, Pod):
            before = known.conditions if isinstance(known, Node | NodeClaim) else ()
            conditions = self._conditions(thing, before, earliest, now)
            if conditions != thing.conditions:
                changes["conditions"] = conditions
        return replace(thing, **changes) if changes else thing

    def _conditions(
        self,
        thing: Node | NodeClaim,
        known: tuple[Condition, ...],
        earliest: datetime | None,
        now: datetime,
    ) -> tuple[Condition, ...]:
        before = {condition.type: condition for condition in known}
        dated = []
        for one in thing.conditions:
            if one.since is None:
                dated.append(one)
                continue
            was = before.get(one.type)
            going_by = was.since if was is not None and was.status is one.status else None
            since = self._at(thing, one.type, one.since, going_by, earliest, now)
            dated.append(one if since == one.since else replace(one, since=since))
        return tuple(dated)

    def _at(
        self,
        thing: Pod | Node | NodeClaim,
        what: str,
        said: datetime,
        going_by: datetime | None,
        earliest: datetime | None,
        now: datetime,
    ) -> datetime:
        if going_by == said:
            return said
        noted = self._dated.get(thing.uid, {}).get(what)
        if noted is not None and noted[0] == said:
            return noted[1]
        latest = now + _HEARD_WITHIN
        just_now = now
        if what == "deleting_since" and isinstance(thing, Pod):
            # By then it is to be gone.
            just_now = now + timedelta(seconds=thing.spec.grace_seconds)
            latest += timedelta(seconds=thing.spec.grace_seconds)
        if said <= latest and (earliest is None or said >= earliest):
            return said
        self._dated.setdefault(thing.uid, {})[what] = said, just_now
        return just_now


def _fields(thing: Pod | Node | NodeClaim) -> tuple[str, ...]:
    match thing:
        case Pod():
            return _OF_PODS
        case Node():
            return _OF_NODES
        case NodeClaim():
            return _OF_CLAIMS
