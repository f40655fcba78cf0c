"""What is left over: instances whose claim is gone, claims whose instance is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain import labels
from treenail.domain.fleets import LAUNCH_TAG, Instance
from treenail.domain.launching import LaunchMark
from treenail.domain.nodes import LAUNCHED, NodeClaim, condition_of

_YOUNG: Final = timedelta(seconds=30)
# An instance that is new to the claim may still be invisible to the listing.
_SETTLED: Final = timedelta(seconds=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """Instances to terminate, by id, and claims to delete; and claims whose reservation ended under them."""

    instances: tuple[str, ...]
    claims: tuple[NodeClaim, ...]
    unreserved: tuple[NodeClaim, ...] = ()


def garbage(
    instances: Sequence[Instance],
    claims: Sequence[NodeClaim],
    *,
    listed_at: datetime,
    known: Collection[str] = (),
    ready: Collection[str] = (),
) -> Garbage:
    """Compare the cloud, listed at `listed_at`, with the cluster, listed after it.

    An instance under 30 s old is left alone, and so is one whose launch token a living claim without
    an instance names: that claim is about to get it. `known` are provider ids of claims that were there
    when last heard of: one that cannot be read now does not cost a node. `ready` are those of nodes that are
    ready: what they run on is there, whatever the listing says (a tag was taken off, say).
    """
    claimed = {c.provider_id for c in claims if c.provider_id}.union(known)
    expecting = {
        mark.token
        for c in claims
        if not c.provider_id and not c.leaving and (mark := LaunchMark.of(c)) is not None
    }
    stray = sorted(
        i.id
        for i in instances
        if i.live
        and i.provider_id not in claimed
        and listed_at - i.launched_at >= _YOUNG
        and i.tags.get(LAUNCH_TAG, "") not in expecting
    )
    there = {i.provider_id for i in instances}.union(ready)
    bereft = sorted(
        (
            c
            for c in claims
            if c.launched and not c.leaving and c.provider_id not in there and _settled(c, listed_at)
        ),
        key=lambda c: c.name,
    )
    plain = {i.provider_id for i in instances if i.live and i.capacity_type == labels.ON_DEMAND}
    unreserved = (
        c
        for c in claims
        if c.capacity_type == labels.RESERVED
        and not c.leaving
        and c.provider_id in plain
        and _settled(c, listed_at)
    )
    return Garbage(
        instances=tuple(stray),
        claims=tuple(bereft),
        unreserved=tuple(sorted(unreserved, key=lambda c: c.name)),
    )


def _settled(claim: NodeClaim, at: datetime) -> bool:
    launched = condition_of(claim.conditions, LAUNCHED)
    since = launched.since if launched is not None and launched.since else claim.created_at
    return at - since >= _SETTLED
