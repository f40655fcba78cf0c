"""Taints of nodes and the tolerations pods have of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from treenail.domain.model.labels import integer_of


class Effect(StrEnum):
    """The effect of a taint on a pod that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A mark on a node that keeps pods off it."""

    key: str
    effect: Effect
    value: str = ""

    def same_mark(self, other: Taint) -> bool:
        """Return whether a node can have only one of the two: key and effect are what names a taint."""
        return self.key == other.key and self.effect is other.effect

    def __str__(self) -> str:
        subject = f"{self.key}={self.value}" if self.value else self.key
        return f"{subject}:{self.effect.value}"


class TolerationOperator(StrEnum):
    """The operator by which a toleration compares the taint's value."""

    EQUAL = "Equal"
    EXISTS = "Exists"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """The taints that a pod puts up with. An empty key means every key, an effect of None every effect."""

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Effect | None = None
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Return whether this toleration covers `taint` (for a time, where `seconds` is set)."""
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case TolerationOperator.EXISTS:
                return True
            case TolerationOperator.EQUAL:
                return bool(self.key) and self.value == taint.value
            case TolerationOperator.GT | TolerationOperator.LT:
                return self._compares(taint.value)

    def _compares(self, value: str) -> bool:
        taint, own = integer_of(value), integer_of(self.value)
        if taint is None or own is None:
            return False
        return taint > own if self.operator is TolerationOperator.GT else taint < own


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first of `taints`, in sorted order, that no toleration covers, if any."""
    known = tuple(tolerations)
    return next((t for t in sorted(taints) if not any(own.tolerates(t) for own in known)), None)


UNREACHABLE: Final = "node.kubernetes.io/unreachable"
# What the control plane makes of a cordon.
UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)
DISRUPTED: Final = Taint("karpenter.sh/disrupted", Effect.NO_SCHEDULE)
# Asks the scheduler to use a node last, as consolidation is to take it later.
GOES_LATER: Final = Taint("treenail.sh/goes-later", Effect.PREFER_NO_SCHEDULE)
UNREGISTERED: Final = Taint("karpenter.sh/unregistered", Effect.NO_EXECUTE)
NOT_READY: Final = Taint("node.kubernetes.io/not-ready", Effect.NO_SCHEDULE)

# Taints that the kubelet, the cloud provider or we put on a node while it starts, and take off again.
EPHEMERAL: Final[frozenset[Taint]] = frozenset(
    {
        NOT_READY,
        Taint("node.kubernetes.io/not-ready", Effect.NO_EXECUTE),
        Taint(UNREACHABLE, Effect.NO_SCHEDULE),
        Taint("node.cloudprovider.kubernetes.io/uninitialized", Effect.NO_SCHEDULE, "true"),
        UNREGISTERED,
    }
)
_EPHEMERAL_MARKS: Final = frozenset((taint.key, taint.effect) for taint in EPHEMERAL)
_EPHEMERAL_PREFIX: Final = "readiness.k8s.io/"


def is_ephemeral(taint: Taint) -> bool:
    """Return whether `taint` is one that goes by itself while a node starts, whatever its value."""
    return (taint.key, taint.effect) in _EPHEMERAL_MARKS or taint.key.startswith(_EPHEMERAL_PREFIX)
