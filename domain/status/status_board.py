"""The status board: what every pool, node class and overlay should show, and what it shows already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, PoolsSeen, says_the_same
from treenail.domain.cluster.set_aside import ObjectUnderstood
from treenail.domain.model.causes import Cause
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import (
    VALIDATED,
    NodeClassMeaning,
    NodeClassStatus,
    NodeClassStatusSeen,
)
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import READY, Condition, Status, condition_of
from treenail.domain.model.template_hash import own_stamps
from treenail.domain.status.overlay_verdicts import OverlaysJudged, overlay_conditions
from treenail.domain.status.readiness import (
    NodeClassChecked,
    invalid,
    node_class_conditions,
    pool_conditions,
)
from treenail.domain.status.registration_health import REGISTRATION_HEALTHY, RegistrationHealth

_SHOW_CONDITIONS: Final = frozenset({Kind.NODE_POOL, Kind.NODE_CLASS, Kind.NODE_OVERLAY})

_Name: TypeAlias = tuple[str, str]
_Asked: TypeAlias = tuple[NodeClassRef, Kubelet]
# What the conditions are about: a new object of the name, or other content, wants them written anew.
_Subject: TypeAlias = NodePool | NodeClass | NodeOverlay | str


@dataclass(frozen=True, slots=True)
class _Shown:
    """The conditions that an object shows."""

    subject: _Subject
    conditions: tuple[Condition, ...]
    meaning: NodeClassMeaning | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    class_generation: int = 0

    @property
    def failed(self) -> tuple[Condition, ...]:
        """The conditions that say why the object is not ready, of one that is understood."""
        if isinstance(self.subject, str):
            return ()
        if isinstance(self.subject, NodeOverlay):
            return tuple(c for c in self.conditions if c.type == VALIDATED and c.status is Status.FALSE)
        parts = [c for c in self.conditions if c.type not in (VALIDATED, READY, REGISTRATION_HEALTHY)]
        failed = tuple(c for c in parts if c.status is Status.FALSE)
        ready = condition_of(self.conditions, READY)
        alone = (ready,) if ready is not None and ready.status is Status.FALSE else ()
        return failed or alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """Conditions to be written, in place of those `before`, the same where these could not be written.

    `meaning` is to be written with them, where it is known what a node class means; `annotations` are those
    that were not written already; `class_generation` is that of a pool's node class, 0 where it is not known.
    `news` are the conditions that say why the object, though understood, is
    not ready, and that were not shown already.
    """

    kind: Kind
    about: ObjectRef
    conditions: tuple[Condition, ...]
    meaning: NodeClassMeaning | None
    annotations: Mapping[str, str]
    class_generation: int
    before: tuple[Condition, ...]
    news: tuple[Condition, ...]

    @property
    def ready(self) -> Condition:
        """The condition of type Ready."""
        found = condition_of(self.conditions, READY)
        assert found is not None  # noqa: S101
        return found

    @property
    def recovered(self) -> bool:
        """True if the object was shown not to be ready, and is."""
        before = condition_of(self.before, READY)
        was = before is not None and before.status is Status.FALSE
        return was and self.ready.status is Status.TRUE

    @property
    def moved(self) -> tuple[tuple[Condition, Status], ...]:
        """The conditions whose status is another than it was shown to be, each with that."""
        shown = {c.type: c.status for c in self.before}
        return tuple(
            (c, shown[c.type]) for c in self.conditions if shown.get(c.type, c.status) is not c.status
        )


class StatusBoard:
    """Pools, node classes and overlays as known, and the conditions that were written. Mutable.

    What is to be written depends on nothing but what they say and what the cloud says: a status that is
    written does not lead to another.
    """

    def __init__(self) -> None:
        self._pools: dict[str, NodePool] = {}
        self._classes: dict[str, NodeClass] = {}
        self._aside: dict[_Name, ObjectSetAside] = {}
        self._checks: dict[_Asked, NodeClassChecked] = {}
        self._asked: dict[_Asked, int] = {}
        self._node_class_statuses: dict[NodeClassRef, NodeClassStatus] = {}
        self._shown: dict[_Name, _Shown] = {}
        # What was to be shown and could not be written: people were told of it, the object does not show it.
        self._unwritten: dict[_Name, None] = {}
        self._health = RegistrationHealth()
        self._overlays: dict[str, NodeOverlay] = {}
        self._judged = OverlaysJudged(overlays=(), conflicts=())

    # --- facts

    def see(self, seen: PoolsSeen) -> None:
        """Take in which pools and node classes there are."""
        classes = {str(c.ref): c for c in seen.node_classes}
        for name, known in self._classes.items():
            if name not in classes or not says_the_same(classes[name], known):
                self._unlearn(known.ref)
                self._begin_anew(pool for pool in seen.pools if pool.node_class == known.ref)
        self._begin_anew(pool for pool in seen.pools if _differs(pool, self._pools.get(pool.name)))
        self._pools = {pool.name: pool for pool in seen.pools}
        self._health.keep(self._pools)
        self._classes = classes
        self._overlays = {overlay.name: overlay for overlay in seen.overlays}
        there = {name for name, _ in self._known()} | self._aside.keys()
        there |= {(Kind.NODE_OVERLAY.value, name) for name in self._overlays}
        self._shown = {name: shown for name, shown in self._shown.items() if name in there}
        self._unwritten = {name: None for name in self._unwritten if name in there}

    def _begin_anew(self, pools: Iterable[NodePool]) -> None:
        for pool in pools:
            self._health.begin_anew(pool.name)

    def register(self, pool: str, failure: Cause | None) -> bool:
        """Take in that a node of a pool registered, or why it never came; return whether that is news."""
        return pool in self._pools and self._health.note(pool, failure)

    def judge(self, judged: OverlaysJudged) -> bool:
        """Take in where node overlays conflict; return whether that is news."""
        known, self._judged = self._judged, judged
        return known != judged

    def _unlearn(self, ref: NodeClassRef) -> None:
        for known in (self._checks, self._asked):
            for key in [key for key in known if key[0] == ref]:
                del known[key]
        self._node_class_statuses.pop(ref, None)

    def set_aside(self, fact: ObjectSetAside) -> bool:
        """Take in that an object is not understood; return whether it shows conditions."""
        if fact.kind not in _SHOW_CONDITIONS:
            return False
        self._aside[_name(fact.about)] = fact
        return True

    def understand(self, fact: ObjectUnderstood) -> bool:
        """Take in that an object is set aside no longer; return whether it shows conditions."""
        return self._aside.pop(_name(fact.about), None) is not None

    def check(self, checked: NodeClassChecked) -> bool:
        """Take in what the cloud says of a node class; return whether that is news."""
        key = checked.key.node_class, checked.key.kubelet
        asked = self._asked.get(key)
        known = self._checks.get(key)
        # Nobody wants to know any more, or this is about what the class said before.
        if asked is None or checked.key.resource_version < asked:
            return False
        if known is not None and not checked.certain:
            return False
        self._checks[key] = checked
        return known is None or replace(checked, key=known.key) != known

    def node_class_seen(self, seen: NodeClassStatusSeen) -> bool:
        """Take in the status of a node class in the cloud; return whether it is news."""
        ref = seen.node_class.ref
        # This may be about what the class said before.
        if not says_the_same(seen.node_class, self._classes.get(str(ref))):
            return False
        known = self._node_class_statuses.get(ref)
        unanswered = any(c.status is Status.UNKNOWN for c in seen.status.conditions)
        if known is not None and unanswered:
            return False
        self._node_class_statuses[ref] = seen.status
        return known != seen.status

    # --- what follows

    def wanted(self, *, anew: bool) -> tuple[tuple[NodeClass, Kubelet], ...]:
        """Return what the cloud should be asked about: everything `anew`, or what it was not asked before."""
        wanted: dict[_Asked, NodeClass] = {}
        for node_class in self._classes.values():
            if not node_class.deleting and not node_class.ref.inline:
                wanted[node_class.ref, node_class.kubelet] = node_class
        for pool in self._pools.values():
            of_pool = self._classes.get(str(pool.node_class))
            if of_pool is not None and not of_pool.deleting and not pool.deleting:
                wanted[of_pool.ref, pool.kubelet or of_pool.kubelet] = of_pool
        new = {key: c for key, c in wanted.items() if anew or key not in self._asked}
        self._asked |= {key: c.resource_version for key, c in new.items()}
        return tuple((c, kubelet) for (_, kubelet), c in sorted(new.items(), key=lambda i: str(i[0])))

    def due(self) -> tuple[Showing, ...]:
        """Return what is to be written now, by kind and name; it counts as shown from now on."""
        due: list[Showing] = []
        for kind, about, shown in self._all():
            was = self._shown.get(_name(about))
            late = _name(about) in self._unwritten
            if was == shown and not late:
                continue
            before = was.conditions if was is not None else ()
            written = was.annotations if was is not None and not late else {}
            due.append(
                Showing(
                    kind=kind,
                    about=about,
                    conditions=shown.conditions,
                    meaning=shown.meaning,
                    class_generation=shown.class_generation,
                    annotations=shown.annotations if shown.annotations != written else {},
                    before=before,
                    news=tuple(c for c in shown.failed if c not in before),
                )
            )
            self._shown[_name(about)] = shown
            self._unwritten.pop(_name(about), None)
        return tuple(due)

    def unwritten(self, about: ObjectRef) -> None:
        """Note that what was due could not be written: it is due again, though it is no news any more."""
        if _name(about) in self._shown:
            self._unwritten[_name(about)] = None

    @property
    def settled(self) -> bool:
        """True if everything is shown, and all of it is ready."""
        return not self._unwritten and all(
            self._shown.get(_name(about)) == shown
            and all(c.status is Status.TRUE for c in shown.conditions if c.type != REGISTRATION_HEALTHY)
            for kind, about, shown in self._all()
            # Looking at the cloud again helps no overlay.
            if kind is not Kind.NODE_OVERLAY
        )

    def _all(self) -> Iterator[tuple[Kind, ObjectRef, _Shown]]:
        """Yield the conditions that each object should show, if they are known."""
        for _, fact in sorted(self._aside.items()):
            yield fact.kind, fact.about, _Shown(fact.about.uid, invalid(fact))
        for (kind, name), thing in self._known():
            if (kind, name) in self._aside or thing.deleting:
                continue
            about = ObjectRef(kind=kind, name=name, uid=thing.uid)
            subject = replace(thing, resource_version=0)
            conditions = self._of_pool(thing) if isinstance(thing, NodePool) else self._of_class(thing)
            if conditions is None:
                continue
            stamps = own_stamps(thing)
            if isinstance(thing, NodePool):
                told = (*conditions, *self._health.condition(thing))
                of_class = self._classes.get(str(thing.node_class))
                generation = of_class.generation if of_class is not None else 0
                shown = _Shown(subject, told, annotations=stamps, class_generation=generation)
                yield Kind.NODE_POOL, about, shown
            else:
                meaning = replace(self._node_class_statuses[thing.ref].meaning, generation=thing.generation)
                yield Kind.NODE_CLASS, about, _Shown(subject, conditions, meaning, stamps)

        yield from self._of_overlays()

    def _of_overlays(self) -> Iterator[tuple[Kind, ObjectRef, _Shown]]:
        for overlay in sorted(self._judged.overlays, key=lambda one: one.name):
            kind = Kind.NODE_OVERLAY
            # It may have changed since.
            if self._overlays.get(overlay.name) != overlay or (kind.value, overlay.name) in self._aside:
                continue
            about = ObjectRef(kind=kind.value, name=overlay.name, uid=overlay.uid)
            conditions = overlay_conditions(overlay, self._judged.conflicts)
            yield kind, about, _Shown(replace(overlay, resource_version=0), conditions)

    def _known(self) -> Iterator[tuple[_Name, NodePool | NodeClass]]:
        for _, node_class in sorted(self._classes.items()):
            # The status of a node class within a Provisioner is shown by the pool.
            if not node_class.ref.inline:
                yield (node_class.ref.kind, node_class.ref.name), node_class
        for name, pool in sorted(self._pools.items()):
            yield (pool.generation.pool_kind, name), pool

    def _of_class(self, node_class: NodeClass) -> tuple[Condition, ...] | None:
        checked = self._checks.get((node_class.ref, node_class.kubelet))
        status = self._node_class_statuses.get(node_class.ref)
        return None if checked is None or status is None else node_class_conditions(checked, status)

    def _of_pool(self, pool: NodePool) -> tuple[Condition, ...] | None:
        ref, node_class = pool.node_class, self._classes.get(str(pool.node_class))
        kubelet = pool.kubelet or (node_class.kubelet if node_class is not None else None)
        return pool_conditions(
            pool,
            node_class,
            aside=self._aside.get((ref.kind, ref.name)),
            checked=self._checks.get((ref, kubelet)) if kubelet is not None else None,
        )


def _differs(pool: NodePool, known: NodePool | None) -> bool:
    """Return whether a pool says something else of its nodes than before: what they cost does not matter."""
    return known is None or not says_the_same(replace(pool, overlays=known.overlays), known)


def _name(about: ObjectRef) -> _Name:
    return about.kind, about.name
