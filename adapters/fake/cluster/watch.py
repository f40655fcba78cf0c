"""The watch: reports every change of the store with a delay, and full lists now and then."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, cast

from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import WATCHED, Change, address_of
from treenail.adapters.fake.cluster.settings import ClusterFaults
from treenail.adapters.fake.cluster.store import Broken
from treenail.adapters.fake.cluster.texts import Texts
from treenail.adapters.fake.cluster.told_workloads import told
from treenail.adapters.fake.luck import Span, chance, draw, fork
from treenail.domain.cluster.cluster_facts import (
    OF_BUFFERS,
    WORKLOADS,
    ClusterFact,
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    says_the_same,
)
from treenail.domain.model.runtime import Ref

# What is told of only where nodes are made for pods that are still to come.
_OF_WISHES: Final = (*WORKLOADS, Kind.RESOURCE_QUOTA)
_BROKEN_FOR: Final[Span] = (5.0, 30.0)


@dataclass(slots=True)
class _Stream:
    """The changes of one kind that are on their way. Those of one instant travel together, in order.

    `arrives_at` is when the last that travels so arrives, `alone_until` when the last that does not.
    """

    dice: random.Random
    opened_at: float = -1.0
    arrives_at: float = -1.0
    alone_until: float = -1.0
    open: list[ClusterFact] = field(default_factory=list)


class Watch:
    """A watch with one listener at a time. Facts of a kind come in the order of their revisions.

    A full list drops all that is still on its way: a late fact would bring back what is gone. While the watch
    is cut off from the API server it sends nothing, and a full list thereafter.
    """

    def __init__(self, plane: ControlPlane, faults: Callable[[], ClusterFaults], texts: Texts) -> None:
        self._agenda = plane.agenda
        self._dice = plane.fork()
        # What is told of workloads and quotas takes no luck from the rest.
        self._workload_dice = fork(copy(self._dice))
        self._buffer_dice = fork(copy(self._dice))
        self._store = plane.store
        self._settings = plane.settings
        self._faults = faults
        self._texts = texts
        self._to: Ref[ClusterFact] | None = None
        self._feed = 0
        self._listed = 0
        self._deaf = True
        self._cut_off_until = 0.0
        self._streams: dict[str, _Stream] = {}
        self._latest: dict[tuple[Kind, str], float] = {}
        unheard: tuple[Kind, ...] = () if self._settings.tells_workloads else _OF_WISHES
        unheard += () if self._settings.tells_buffers else OF_BUFFERS
        self._kinds = tuple(kind for kind in WATCHED if kind not in unheard)
        plane.store.listen(self._changed, *self._kinds)

    def feed(self, to: Ref[ClusterFact]) -> None:
        """From now on tell `to`, a full list first.

        Raises:
            RuntimeError: somebody is told already.
        """
        if self._to is not None:
            raise RuntimeError("the cluster is watched already: stop that watch first")
        self._to = to
        self._feed += 1
        self._connect()

    def stop(self) -> None:
        """Send nothing any more."""
        self._to = None
        self._feed += 1

    def cut_off(self, until: float) -> None:
        """Send nothing before monotonic second `until`, not even what is on its way; then a full list."""
        self._cut_off_until = until
        self._listed += 1
        if self._to is not None:
            self._connect()

    def set_aside(self, broken: Broken) -> None:
        """Send that there is an object that cannot be read."""
        self._send(_set_aside(broken), broken.kind, broken.key)

    def forget(self, broken: Broken) -> None:
        """Send that an object that could not be read is gone."""
        self._send(ObjectGone(kind=broken.kind, key=broken.key), broken.kind, broken.key)

    # --- full lists

    def _connect(self) -> None:
        self._deaf = True
        away = max(0.0, self._cut_off_until - self._agenda.monotonic())
        self._list_in(away + draw(self._dice, self._settings.watch))

    def _list_in(self, seconds: float) -> None:
        self._agenda.call_at(
            self._agenda.monotonic() + seconds, partial(self._list, self._feed, self._listed)
        )

    def _list(self, feed: int, listed: int) -> None:
        if self._to is None or feed != self._feed or listed != self._listed:
            return
        self._listed += 1
        self._deaf = False
        self._streams = {kind: _Stream(dice=self._dice_of(kind)) for kind in self._kinds}
        self._latest = {}
        facts = [self._texts.fact(thing) for thing in self._objects()]
        aside = [_set_aside(broken) for broken in self._store.broken.values()]
        aside += (fact for fact in facts if isinstance(fact, ObjectSetAside))
        self._to.tell(
            Resynced(
                revision=self._store.revision,
                objects=tuple(fact.object for fact in facts if isinstance(fact, ObjectSeen)),
                set_aside=tuple(aside),
                unreadable=self._store.unreadable,
            )
        )
        self._list_in(self._settings.resync)

    def _objects(self) -> tuple[ClusterObject, ...]:
        broken = self._store.broken
        there = (
            self._told(thing, deleting=self._store.deleting(thing))
            for kind in self._kinds
            for thing in self._store.of_kind(kind)
            if not broken or address_of(thing) not in broken
        )
        return tuple(cast("ClusterObject", thing) for thing in there if thing is not None)

    def _dice_of(self, kind: Kind) -> random.Random:
        if kind in OF_BUFFERS:
            return self._buffer_dice
        return self._workload_dice if kind in _OF_WISHES else self._dice

    def _told(self, thing: ApiObject | None, *, deleting: bool) -> ApiObject | None:
        return told(thing, deleting=deleting, templates=self._settings.tells_buffers)

    # --- changes

    def _changed(self, change: Change) -> None:
        if self._deaf or self._to is None:
            return
        before = cast("ClusterObject | None", change.before)
        after = cast("ClusterObject | None", change.after)
        kind = Kind(change.kind)
        if kind in WORKLOADS or kind is Kind.DEPLOYMENT:
            self._workload_changed(change, kind)
            return
        if before is not None and after is not None and key_of(before) != key_of(after):
            # A DeviceTaintRule applied in another version: what has the old key is not there any more.
            self._send(ObjectGone(kind=kind, key=key_of(before)), kind, key_of(before))
        broken = self._store.broken.get(change.address)
        if after is not None and broken is not None:
            self.set_aside(replace(broken, resource_version=after.resource_version))
        elif after is not None:
            self._send(self._texts.fact(after), kind, key_of(after))
        elif before is not None:
            key = key_of(before)
            self._send(ObjectGone(kind=kind, key=key), kind, key)

    def _workload_changed(self, change: Change, kind: Kind) -> None:
        """Send how many pods are wanted and what holds them back, where either has changed."""
        deleting = change.after is not None and self._store.deleting(change.after)
        before = cast("ClusterObject | None", self._told(change.before, deleting=False))
        after = cast("ClusterObject | None", self._told(change.after, deleting=deleting))
        if after is None and before is not None:
            self._send(ObjectGone(kind=kind, key=key_of(before)), kind, key_of(before))
        elif after is not None and not says_the_same(after, before):
            self._send(ObjectSeen(object=after), kind, key_of(after))

    def _send(self, fact: ClusterFact, kind: Kind, key: str) -> None:
        if self._deaf or self._to is None:
            return
        faults, dice = self._faults(), self._dice_of(kind)
        if chance(dice, faults.watch_drop):
            self._deaf = True
            self._list_in(draw(dice, _BROKEN_FOR))
            return
        facts = (fact, fact) if chance(dice, faults.watch_duplicate) else (fact,)
        if faults.watch_delay_seconds:
            self._send_alone(facts, (kind, key), faults.watch_delay_seconds)
        else:
            self._send_along(facts, self._streams[kind])

    def _send_alone(self, facts: tuple[ClusterFact, ...], of: tuple[Kind, str], delay: float) -> None:
        now = self._agenda.monotonic()
        stream = self._streams[of[0]]
        at = now + draw(stream.dice, self._settings.watch) + delay * stream.dice.random()
        at = max(at, self._latest.get(of, now), stream.arrives_at)
        self._latest[of] = at
        stream.opened_at, stream.alone_until = -1.0, max(stream.alone_until, at)
        self._agenda.call_at(at, partial(self._arrive, self._listed, self._feed, facts))

    def _send_along(self, facts: tuple[ClusterFact, ...], stream: _Stream) -> None:
        now = self._agenda.monotonic()
        if stream.opened_at != now:
            stream.opened_at = now
            at = now + draw(stream.dice, self._settings.watch)
            stream.arrives_at = max(stream.arrives_at, stream.alone_until, at)
            stream.open = []
            self._agenda.call_at(
                stream.arrives_at, partial(self._arrive, self._listed, self._feed, stream.open)
            )
        stream.open.extend(facts)

    def _arrive(self, listed: int, feed: int, facts: list[ClusterFact] | tuple[ClusterFact, ...]) -> None:
        if self._to is None or feed != self._feed or listed != self._listed:
            return
        for fact in facts:
            self._to.tell(fact)


def _set_aside(broken: Broken) -> ObjectSetAside:
    return ObjectSetAside(
        kind=broken.kind,
        key=broken.key,
        resource_version=broken.resource_version,
        about=broken.about,
        problem=broken.problem,
    )
