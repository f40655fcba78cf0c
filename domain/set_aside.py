"""Which objects nobody could understand, so that people are told once, and again when all is well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from treenail.domain.cluster_facts import ClusterObject, Kind, ObjectSetAside, key_of, kind_of
from treenail.domain.events import ClusterEvent, ObjectRef
from treenail.domain.nodes import Condition, Status

VALIDATED: Final = "ValidationSucceeded"
_SHOWS_CONDITIONS: Final = frozenset({Kind.NODE_POOL, Kind.NODE_CLASS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectUnderstood:
    """An object that was set aside has been put right."""

    kind: Kind
    about: ObjectRef


@dataclass(slots=True)
class SetAside:
    """The objects that are set aside now, with what is wrong with each."""

    _problems: dict[tuple[Kind, str], ObjectSetAside] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._problems)

    def note(self, fact: ObjectSetAside) -> bool:
        """Note that an object is set aside; tell whether that, or the reason, is news."""
        known = self._problems.get((fact.kind, fact.key))
        self._problems[fact.kind, fact.key] = fact
        return known is None or known.problem != fact.problem

    def understand(self, thing: ClusterObject) -> ObjectUnderstood | None:
        """Note that an object was understood; return that where it had been set aside."""
        fact = self._problems.pop((kind_of(thing), key_of(thing)), None)
        return ObjectUnderstood(kind=fact.kind, about=fact.about) if fact is not None else None

    def forget(self, kind: Kind, key: str) -> None:
        """Note that an object is gone."""
        self._problems.pop((kind, key), None)


def warning_of(fact: ObjectSetAside) -> ClusterEvent:
    """Return the event that tells why an object is set aside."""
    return ClusterEvent(about=fact.about, reason="FailedValidation", message=fact.problem, warning=True)


def condition_of(fact: ObjectSetAside | ObjectUnderstood) -> Condition | None:
    """Return the condition that an object shows for it; None for kinds that show none."""
    if fact.kind not in _SHOWS_CONDITIONS:
        return None
    if isinstance(fact, ObjectUnderstood):
        return Condition(type=VALIDATED, status=Status.TRUE, reason=VALIDATED)
    return Condition(
        type=VALIDATED,
        status=Status.FALSE,
        # Karpenter's reason for pools, and the like for node classes.
        reason=f"{fact.kind.value}ValidationFailed",
        message=fact.problem,
    )
