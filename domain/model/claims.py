"""Annotations of claims: promised pods, the decision, replaced nodes, and amounts."""

from __future__ import annotations

import re
from typing import Final

from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.resources import NOTHING, Resources

COUNTS_AS: Final = "treenail.sh/counts-as"
DECISION: Final = "treenail.sh/decision"
PROMISED: Final = "treenail.sh/pods"
EXPECTED: Final = "treenail.sh/pods-to-come"
REPLACES: Final = "treenail.sh/replaces"
_AMOUNT: Final = re.compile("[0-9]{1,19}")


def promised_pods(claim: NodeClaim) -> tuple[str, ...]:
    """Return the uids of the pods a claim was made for."""
    return tuple(filter(None, claim.annotations.get(PROMISED, "").split(",")))


def expected_pods(claim: NodeClaim) -> dict[str, int]:
    """Return how many pods that were still to be made a claim was made for, by the uid of their owner."""
    return dict(read_amounts(claim.annotations.get(EXPECTED, "")))


def replaced_nodes(claim: NodeClaim) -> tuple[str, ...]:
    """Return the names of the nodes that pods of a claim were to leave for it when it was decided on."""
    return tuple(filter(None, claim.annotations.get(REPLACES, "").split(",")))


def write_amounts(amounts: Resources) -> str:
    """Write amounts into one annotation: "cpu=8000,memory=...", in the unit `Resources` counts in."""
    return ",".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))


def read_amounts(text: str) -> Resources:
    """Read what `write_amounts` wrote; nothing where somebody else wrote something else."""
    amounts: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, _, amount = part.partition("=")
        if _AMOUNT.fullmatch(amount) is None:
            return NOTHING
        amounts[name] = int(amount)
    return Resources(amounts)


def counted_capacity(claim: NodeClaim) -> Resources:
    """Return what a claim counts with against limits: its capacity, before the launch its largest type's."""
    return claim.capacity or read_amounts(claim.annotations.get(COUNTS_AS, ""))
