"""Capacity shortfalls: what instance types have less of than estimated, by the nodes seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.resources import Resources

# Of so many types nodes must have had too little before any other is taken to be short too.
_WITNESSES: Final = 2
# Shares by which amounts may differ to be taken for the same (file systems of one size are not quite equal),
# and above which they are taken for different.
_SAME, _OTHER = 0.01, 0.1
# What small types have alike, those many times as large may not: a script may mount several disks alone.
_REACH: Final = 8


def with_room(types: tuple[InstanceType, ...], room: Mapping[str, Resources]) -> tuple[InstanceType, ...]:
    """Return estimated `types` less what nodes turned out not to have; those not concerned as they are.

    `room` is what nodes had for pods, by type. A type with nodes has no more than they had, and never more
    than was estimated. Of all others is missing what is missing of several types in the same way: where
    they should have had different amounts of a resource and had the same, and none had more, others that
    are not far larger have that at most; else where each of them lacked some, others lack the least of that.
    """
    if not room:
        return types
    seen = [(one, room[one.name]) for one in types if one.name in room]
    names = sorted({name for _, had in seen for name in had})
    patterns = {name: pattern for name in names if (pattern := _pattern(name, seen)) is not None}
    return tuple(_less(one, dict(_missing(one, room.get(one.name), patterns))) for one in types)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A resource's shortfall on nodes of all types: `by` so much, or `to` so much up to an estimate."""

    by: int = 0
    to: int = 0
    reach: int = 0

    def missing(self, estimate: int) -> int:
        return max(estimate - self.to, 0) if estimate <= self.reach else min(self.by, estimate)


def _pattern(name: str, seen: Sequence[tuple[InstanceType, Resources]]) -> _Pattern | None:
    """Return by how much a resource falls short of the estimate on every type seen; None if it does not."""
    pairs = [(one.allocatable.get(name, 0), had[name]) for one, had in seen if name in had]
    short = [(estimate, had) for estimate, had in pairs if had < estimate]
    if len(short) < _WITNESSES:
        return None
    kept = [had for estimate, had in pairs if had >= estimate]
    estimates, left = [estimate for estimate, _ in short], [had for _, had in short]
    by = 0 if kept else min(estimate - had for estimate, had in short)
    alike = _spread(left) <= _SAME and _spread(estimates) > _OTHER
    if alike and all(had <= max(left) for had in kept):
        return _Pattern(by=by, to=max(left), reach=_REACH * max(estimates))
    return _Pattern(by=by) if by else None


def _spread(amounts: Sequence[int]) -> float:
    return 1 - min(amounts) / max(amounts) if max(amounts) else 0.0


def _missing(
    one: InstanceType, had: Resources | None, patterns: Mapping[str, _Pattern]
) -> Iterator[tuple[str, int]]:
    for name, estimate in sorted(one.allocatable.items()):
        if had is not None and name in had:
            missing = estimate - had[name]
        elif name in patterns:
            missing = patterns[name].missing(estimate)
        else:
            continue
        if missing > 0:
            yield name, missing


def _less(one: InstanceType, missing: Mapping[str, int]) -> InstanceType:
    if not missing:
        return one
    return replace(one, overhead=replace(one.overhead, missing=Resources(missing)))
