"""The conditions of objects that say nothing of when they changed: dated by when that was seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

from treenail.domain.model.nodes import Condition, condition_of
from treenail.domain.telemetry.condition_gauges import Conditioned, Noted, changed, ended


class ConditionBook:
    """The last state of each object's conditions, by kind and name. Mutable."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Conditioned] = {}

    def see(self, kind: str, name: str, conditions: tuple[Condition, ...], now: datetime) -> Iterator[Noted]:
        """Take in the conditions of an object; yield what changed, nothing when it is first seen."""
        before = self._known.get((kind, name))
        known = before.conditions if before is not None else ()
        dated = tuple(_dated(one, condition_of(known, one.type), now) for one in conditions)
        if before is None:
            self._known[kind, name] = Conditioned(kind=kind, name=name, conditions=dated)
            return
        after = self._known[kind, name] = replace(before, conditions=dated)
        yield from changed(before, after)

    def keep(
        self, kind: str, there: Collection[str], deleting: Collection[str], now: datetime
    ) -> Iterator[tuple[str, tuple[Noted, ...]]]:
        """Take in which objects of a kind there are, and which of them are deleted.

        Yield the names of those that are gone, with what their ends took.
        """
        for key, known in tuple(self._known.items()):
            if key[0] != kind:
                continue
            if key[1] not in there:
                del self._known[key]
                yield key[1], tuple(ended(known, now))
            elif key[1] in deleting and known.deleting_since is None:
                self._known[key] = replace(known, deleting_since=now)

    def all(self) -> tuple[Conditioned, ...]:
        """Return all objects."""
        return tuple(self._known.values())


def _dated(condition: Condition, was: Condition | None, now: datetime) -> Condition:
    if condition.since is not None:
        return condition
    same = was is not None and was.status is condition.status
    return replace(condition, since=was.since if was is not None and same else now)
