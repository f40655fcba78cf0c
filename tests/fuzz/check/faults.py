"""What a checker finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is wrong with a decision."""

    DECISION = "decision"
    TAINT = "taint"
    REQUIREMENT = "requirement"
    OFFERING = "offering"
    PRICE = "price"
    CAPACITY = "capacity"
    PORT = "port"
    VOLUME = "volume"
    ATTACH_LIMIT = "attach limit"
    SPREAD = "spread"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    LIMIT = "limit"
    MIN_VALUES = "minValues"
    REFUSED = "refused without cause"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `about` names the claim, node or pod."""

    kind: Kind
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.about}: {self.what}"
