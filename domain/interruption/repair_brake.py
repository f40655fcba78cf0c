"""The brake on node repair: at most a fifth of a pool, and of a zone, is given up at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.disruption.node_repair import MOST_UNHEALTHY_PERCENT
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.termination.end_records import cause_said

# Those for which a node is given up though nobody takes its machine, whatever budgets say: its own
# conditions, and EC2's checks.
REPAIRED: Final = frozenset({Cause.UNHEALTHY, Cause.INSTANCE_STATUS, Cause.SYSTEM_STATUS})

# Pods take so long to run elsewhere when their node is gone: until then it counts.
SETTLES: Final = timedelta(minutes=2)

# A pool or a zone, as people are told of it.
_Group: TypeAlias = str


@dataclass(slots=True)
class _GivenUp:
    """A node that was given up: the groups it counts in, and since when it was seen to be gone."""

    groups: tuple[_Group, ...]
    gone_at: datetime | None = None


class RepairBrake:
    """The nodes that were given up as unwell, and are not gone yet. Mutable.

    What goes counts until two minutes after its claim is gone, and where a process before this one gave it
    up, until that is. A group is as large as it was when the first of it went, so that nodes bought instead
    of those do not widen the brake.
    """

    def __init__(self) -> None:
        self._given_up: dict[str, _GivenUp] = {}
        self._sizes: dict[_Group, int] = {}

    def holds(self, claim: NodeClaim, claims: Mapping[str, NodeClaim], now: datetime) -> str | None:
        """Return a sentence on why a node is not given up yet; None where it is: it counts from now on.

        `claims` are all there are, by name.
        """
        self._look(claims, now)
        for group in _groups(claim):
            there = [one for one in claims.values() if one.registered and group in _groups(one)]
            going = sum(group in one.groups for one in self._given_up.values())
            going += sum(one.name not in self._given_up and _goes(one) for one in there)
            # One that is not registered any more, or not yet, is at least itself.
            size = self._size(group, max(1, len(there)), going)
            if going >= -(-size * MOST_UNHEALTHY_PERCENT // 100):
                return (
                    f"No more than {MOST_UNHEALTHY_PERCENT}% of the nodes of {group} are given up as unwell "
                    f"at a time: {going} of {size} are not gone yet, or were just now"
                )
        self._given_up[claim.name] = _GivenUp(_groups(claim))
        return None

    def _look(self, claims: Mapping[str, NodeClaim], now: datetime) -> None:
        """Note nodes that are gone, and drop those that have been gone for a while."""
        for name, one in self._given_up.items():
            one.gone_at = None if name in claims else one.gone_at or now
        self._given_up = {
            name: one
            for name, one in self._given_up.items()
            if one.gone_at is None or now - one.gone_at < SETTLES
        }

    def _size(self, group: _Group, now: int, going: int) -> int:
        size = min(now, self._sizes.get(group, now)) if going else now
        self._sizes[group] = size
        return size


def _goes(claim: NodeClaim) -> bool:
    return claim.leaving and cause_said(claim) in REPAIRED


def _groups(claim: NodeClaim) -> tuple[_Group, ...]:
    """Return the groups of a node; of each group a part may be given up."""
    return (
        f"pool {claim.pool}" if claim.pool else "no pool",
        *((f"zone {claim.zone}",) if claim.zone else ()),
    )
