"""Why a pod was refused: the first predicate that failed, for every pool."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The predicates, in the order they are tried."""

    NO_POOLS = "NoPools"
    POOL_NOT_READY = "PoolNotReady"
    CONSTRAINT_NOT_SUPPORTED = "ConstraintNotSupported"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    INCOMPATIBLE_REQUIREMENT = "IncompatibleRequirement"
    NO_INSTANCE_TYPE_MATCHES = "NoInstanceTypeMatches"
    TOO_LARGE = "TooLarge"
    NO_CAPACITY = "NoCapacity"
    LIMIT_REACHED = "LimitReached"
    SET_ASIDE = "SetAside"


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """One pool's first reason against a class of pods. An empty pool means it holds for all of them.

    `detail` is the sentence's end with its values: "the taint team=gpu:NoSchedule is not tolerated".
    """

    pool: str
    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.pool}: {self.detail}" if self.pool else self.detail


def sentence(refusals: tuple[Refusal, ...]) -> str:
    """Return the refusals as one line for a person, pools in the order they were tried."""
    return "; ".join(str(r) for r in refusals)
