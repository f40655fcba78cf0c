"""A decision as both sides write it: one line of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import msgspec


class Requirement(msgspec.Struct, frozen=True, rename="camel"):
    """What a label of a claim's node must be."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    min_values: int | None = None

    def allows(self, value: str) -> bool:
        """Whether the label may have this value: enough for labels that are no numbers."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "DoesNotExist":
                return False
            case _:
                return True


class Claim(msgspec.Struct, frozen=True, rename="camel"):
    """A node to buy; `instance_types` cheapest first, `price` that of the first in $/h."""

    node_pool: str
    pods: tuple[str, ...]
    instance_types: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    price: float

    def allows(self, key: str, value: str) -> bool:
        """Whether the node may have this label."""
        return all(r.allows(value) for r in self.requirements if r.key == key)


class Decision(msgspec.Struct, frozen=True, rename="camel", dict=True):
    """Where pods go, named namespace/name, what that costs in $/h, and how long each time it took to decide.

    `processor_seconds` are those of all processors. `lower_bound` (none of Karpenter's) is what no nodes for
    these pods could cost less than. `first` says that a fresh process had never decided before.
    `resident_mib` is the process's memory before the decision, `peak_mib` the most it ever had.
    """

    node_claims: tuple[Claim, ...]
    existing: dict[str, tuple[str, ...]]
    unschedulable: dict[str, str]
    cost: float
    pods: int
    seconds: tuple[float, ...]
    processor_seconds: tuple[float, ...]
    lower_bound: float = 0.0
    timed_out: bool = False
    first: bool = False
    resident_mib: float = 0.0
    peak_mib: float = 0.0

    @cached_property
    def placed(self) -> frozenset[str]:
        """The pods that go somewhere."""
        bought = (name for claim in self.node_claims for name in claim.pods)
        return frozenset(bought) | {name for names in self.existing.values() for name in names}

    @property
    def nodes(self) -> int:
        return len(self.node_claims)


class Failure(msgspec.Struct, frozen=True):
    """No decision, and why."""

    error: str


_DECISION: Final = msgspec.json.Decoder(Decision)
_FAILURE: Final = msgspec.json.Decoder(Failure)


class UndecidedError(Exception):
    """A side could not decide. The message is its own."""


def read_decision(line: bytes) -> Decision:
    """Read what a side answered.

    Raises:
        UndecidedError: it says that it failed.
    """
    try:
        return _DECISION.decode(line)
    except msgspec.ValidationError:
        raise UndecidedError(_FAILURE.decode(line).error) from None


def cheapest(decisions: Sequence[Decision]) -> Decision:
    """Return the decision that costs least of those that place the most pods."""
    return min(decisions, key=lambda d: (-len(d.placed), d.cost))
