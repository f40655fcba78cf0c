"""Objects set aside because they cannot be read: people are told once, and again when all is well."""

from __future__ import annotations

from dataclasses import dataclass, field

from treenail.domain.cluster.cluster_facts import (
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    kind_of,
)
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectUnderstood:
    """An object that was set aside has been put right, or is gone."""

    kind: Kind
    about: ObjectRef


@dataclass(slots=True)
class SetAside:
    """The objects that are set aside now, with what is wrong with each."""

    _problems: dict[tuple[Kind, str], ObjectSetAside] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._problems)

    def note(self, fact: ObjectSetAside) -> bool:
        """Note that an object is set aside; return whether that, or the reason, is news."""
        known = self._problems.get((fact.kind, fact.key))
        self._problems[fact.kind, fact.key] = fact
        return known is None or (known.problem, known.about) != (fact.problem, fact.about)

    def understood_by(self, fact: ObjectSeen | ObjectGone | Resynced) -> tuple[ObjectUnderstood, ...]:
        """Take in what is known of objects by now; return those that are set aside no longer."""
        if not self._problems:
            return ()
        match fact:
            case Resynced():
                return self.compare(fact)
            case ObjectSeen():
                understood = self.understand(fact.object)
            case ObjectGone():
                understood = self.forget(fact.kind, fact.key)
        return () if understood is None else (understood,)

    def understand(self, thing: ClusterObject) -> ObjectUnderstood | None:
        """Note that an object was understood; return that where it had been set aside."""
        return self.forget(kind_of(thing), key_of(thing))

    def forget(self, kind: Kind, key: str) -> ObjectUnderstood | None:
        """Note that an object is gone; return that where it had been set aside."""
        fact = self._problems.pop((kind, key), None)
        return ObjectUnderstood(kind=fact.kind, about=fact.about) if fact is not None else None

    def compare(self, full: Resynced) -> tuple[ObjectUnderstood, ...]:
        """Return what a full list says is set aside no longer; what it sets aside is still to be noted."""
        still = {(fact.kind, fact.key) for fact in full.set_aside}
        ended = (self.forget(*at) for at in list(self._problems) if at not in still)
        return tuple(understood for understood in ended if understood is not None)


def warning_of(fact: ObjectSetAside) -> ClusterEvent:
    """Return the event that tells why an object is set aside, and what follows from that."""
    follows = _what_follows(fact.partly)
    message = f"{fact.problem}; {follows}" if follows else fact.problem
    return ClusterEvent(about=fact.about, reason="FailedValidation", message=message, warning=True)


def _what_follows(partly: ClusterObject | None) -> str:
    match partly:
        case Pod(node_name=""):
            return "no node is bought for it"
        case Pod(node_name=node):
            return f"node {node} is not given up by choice while it is there"
        case Node() | NodeClaim():
            return "it is left alone"
        case PodDisruptionBudget():
            return "whom it may select are taken to be held by it"
        case _:
            return ""
