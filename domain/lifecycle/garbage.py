"""Garbage: instances whose claim is gone, and claims whose instance is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels
from treenail.domain.model.fleets import LAUNCH_TAG, Instance
from treenail.domain.model.nodes import LAUNCHED, NodeClaim

_YOUNG: Final = timedelta(seconds=30)
# An instance that is new to the claim may still be invisible to the listing.
_SETTLED: Final = timedelta(seconds=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """Instances to terminate, by id, and claims to delete; and claims whose reservation ended under them."""

    instances: tuple[str, ...]
    claims: tuple[NodeClaim, ...]
    unreserved: tuple[NodeClaim, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.instances or self.claims or self.unreserved)


def garbage(
    instances: Sequence[Instance],
    claims: Sequence[NodeClaim],
    *,
    listed_at: datetime,
    known: Collection[str] = (),
    ready: Collection[str] = (),
    static_pools: Collection[str] = (),
) -> Garbage:
    """Compare the cloud, listed at `listed_at`, with the cluster, listed after it.

    An instance under 30 s old is left alone, and so is one whose launch token a living claim without
    an instance names: that claim is about to get it. `known` are provider ids of claims that were there
    when last heard of: one that cannot be read now does not cost a node. What is of `static_pools`, by name,
    is left alone. `ready` are provider ids of nodes that are ready: what they run on is there, whatever the
    listing says (a tag was taken off, say).
    """
    claimed = {c.provider_id for c in claims if c.provider_id}.union(known)
    there = {i.provider_id for i in instances}.union(ready)
    plain = {i.provider_id for i in instances if i.live and i.capacity_type == labels.ON_DEMAND}
    settled = [c for c in claims if c.pool not in static_pools and _settled(c, listed_at)]
    ours = [i for i in instances if i.tags.get(labels.NODEPOOL) not in static_pools]
    return Garbage(
        instances=tuple(sorted(_stray(ours, claims, claimed, listed_at))),
        claims=_by_name(c for c in settled if c.provider_id not in there),
        unreserved=_by_name(
            c for c in settled if c.capacity_type == labels.RESERVED and c.provider_id in plain
        ),
    )


def _stray(
    instances: Sequence[Instance], claims: Sequence[NodeClaim], claimed: Collection[str], listed_at: datetime
) -> Iterator[str]:
    """Yield the ids of instances that have no claim, and will get none."""
    expecting = {
        mark.token
        for c in claims
        if not c.provider_id and not c.leaving and (mark := LaunchMark.of(c)) is not None
    }
    for one in instances:
        nobodys = one.live and one.provider_id not in claimed
        expected = one.tags.get(LAUNCH_TAG, "") in expecting
        if nobodys and not expected and listed_at - one.launched_at >= _YOUNG:
            yield one.id


def _settled(claim: NodeClaim, at: datetime) -> bool:
    """Return whether a claim has had its instance for long enough to be seen by the listing."""
    return claim.launched and not claim.leaving and at - claim.since(LAUNCHED) >= _SETTLED


def _by_name(claims: Iterable[NodeClaim]) -> tuple[NodeClaim, ...]:
    return tuple(sorted(claims, key=lambda c: c.name))
