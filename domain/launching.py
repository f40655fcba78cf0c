"""From claims to CreateFleet calls and back: grouping, marking, dealing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain import labels
from treenail.domain.disruption import Cause
from treenail.domain.fleets import (
    CLUSTER_TAG,
    EFA,
    LAUNCH_TAG,
    FleetAnswer,
    FleetRequest,
    Instance,
    Override,
)
from treenail.domain.instance_types import InstanceType
from treenail.domain.node_classes import NodeClass, NodeClassRef
from treenail.domain.node_pools import Generation, NodePool
from treenail.domain.nodes import NodeClaim
from treenail.domain.requirements import Requirements
from treenail.domain.selection import OfferingKey
from treenail.domain.taints import UNREGISTERED

# What a claim says of its launch, in place of a mark, when it is known to have come to nothing.
NOTHING_BOUGHT: Final = "nothing-bought"
_MARK: Final = re.compile("([^/]+)/([0-9]{1,9})/(.*)")
_MOST_TYPES: Final = 60
# EC2 takes no more in one fleet: 60 types in six zones would be too many.
_MOST_OVERRIDES: Final = 300
# The walkthroughs of the old API offer up to 20 types to one fleet.
_MOST_TYPES_V1ALPHA5: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunched:
    """An instance was bought for a claim, and the claim says so."""

    claim: NodeClaim
    instance: Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRanOut:
    """EC2 had no capacity in these offerings: (capacity type, instance type, zone)."""

    offerings: tuple[OfferingKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """Nothing can be launched from a node class for now, for a reason that is not capacity."""

    node_class: NodeClassRef
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFailed:
    """A claim comes to nothing: no instance was bought for it, and none will be."""

    claim: str
    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class LaunchMark:
    """What a claim says of its launch: which call, which of its instances, and what was asked for."""

    token: str
    index: int
    digest: str

    def __str__(self) -> str:
        return f"{self.token}/{self.index}/{self.digest}"

    @classmethod
    def of(cls, claim: NodeClaim) -> LaunchMark | None:
        """Read the mark of a claim; None where it has none that we wrote."""
        match = _MARK.fullmatch(claim.annotations.get(labels.LAUNCH, ""))
        return cls(match[1], int(match[2]), match[3]) if match is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One CreateFleet call and the claims it is for, in the order its instances are dealt."""

    request: FleetRequest
    claims: tuple[str, ...]

    def marks(self) -> dict[str, LaunchMark]:
        """Return what each claim is to say before the call is made."""
        digest = self.request.digest()
        return {name: LaunchMark(self.request.token, i, digest) for i, name in enumerate(self.claims)}


def launch_token(claims: Iterable[str]) -> str:
    """Return the client token of the call for `claims`: for the same claims always the same."""
    return hashlib.blake2b(",".join(claims).encode(), digest_size=10).hexdigest()


def launches(
    claims: Sequence[NodeClaim],
    *,
    pool: NodePool,
    node_class: NodeClass,
    types: Mapping[str, InstanceType],
    cluster_name: str,
) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
    """Group claims of one pool that ask for the same into as few calls as there can be.

    Return the calls, and the names of claims for which nothing is on offer any more.
    """
    groups: dict[tuple[object, ...], list[NodeClaim]] = {}
    options: dict[str, tuple[str, tuple[Override, ...]]] = {}
    hopeless: list[str] = []
    for claim in sorted(claims, key=lambda c: c.name):
        options[claim.name] = capacity_type, overrides = _options(claim, types)
        if overrides:
            groups.setdefault((capacity_type, overrides, _node_of(claim, pool)), []).append(claim)
        else:
            hopeless.append(claim.name)
    calls = [
        _launch(members, *options[members[0].name], pool, node_class, cluster_name)
        for members in groups.values()
    ]
    return tuple(calls), tuple(hopeless)


def launch_again(
    claims: Sequence[NodeClaim],
    *,
    unmarked: Sequence[NodeClaim] = (),
    pool: NodePool,
    node_class: NodeClass,
    types: Mapping[str, InstanceType],
    cluster_name: str,
) -> Launch | None:
    """Return the very call that all these claims (with one mark's token) were marked for.

    Some of the `unmarked` may be of it too: then it was never made. None where the call cannot be made
    again as it was: the token may not be used for another request.
    """
    marks = {c.name: mark for c in claims if (mark := LaunchMark.of(c)) is not None}
    if not marks or len(marks) < len(claims):
        return None
    options, node = _options(claims[0], types), _node_of(claims[0], pool)
    if not options[1]:
        return None
    alike = [c for c in unmarked if _options(c, types) == options and _node_of(c, pool) == node]
    for members in (claims, (*claims, *alike)):
        again = _launch(sorted(members, key=lambda c: c.name), *options, pool, node_class, cluster_name)
        if all(again.marks()[name] == mark for name, mark in marks.items()):
            return again
    return None


def _node_of(claim: NodeClaim, pool: NodePool) -> tuple[object, ...]:
    """Return what launch templates say of a claim's node. It is one for all instances of a call."""
    decided = _decided_labels(claim, pool)
    kept = tuple(sorted(decided.items())), claim.taints, claim.startup_taints
    return *kept, _dedicated(claim), _with_efa(claim)


def _dedicated(claim: NodeClaim) -> bool:
    """Tell whether a claim wants hardware of its own, which it does only where it takes no other."""
    tenancy = claim.requirements.get(labels.INSTANCE_TENANCY)
    return tenancy is not None and not tenancy.has("default")


def _with_efa(claim: NodeClaim) -> bool:
    return claim.requests.get(EFA, 0) > 0


def _launch(
    claims: Sequence[NodeClaim],
    capacity_type: str,
    overrides: tuple[Override, ...],
    pool: NodePool,
    node_class: NodeClass,
    cluster_name: str,
) -> Launch:
    names = tuple(c.name for c in claims)
    token = launch_token(names)
    first = claims[0]
    request = FleetRequest(
        token=token,
        node_class=node_class,
        capacity_type=capacity_type,
        overrides=overrides,
        count=len(names),
        labels={**_decided_labels(first, pool), labels.CAPACITY_TYPE: capacity_type},
        taints=(*first.taints, *first.startup_taints, UNREGISTERED),
        kubelet=pool.kubelet or node_class.kubelet,
        tags={
            **node_class.tags,
            f"kubernetes.io/cluster/{cluster_name}": "owned",
            CLUSTER_TAG: cluster_name,
            pool.generation.pool_label: pool.name,
            LAUNCH_TAG: token,
        },
        dedicated=_dedicated(first),
        efa=_with_efa(first),
    )
    return Launch(request=request, claims=names)


def _decided_labels(claim: NodeClaim, pool: NodePool) -> dict[str, str]:
    """Return what was decided on the labels of a claim's node.

    A claim that was given its instance says of that too: which must not make another call of the same one.
    """
    decided = pool.node_labels
    return {k: v for k, v in claim.labels.items() if k in decided or k not in labels.WELL_KNOWN}


def _options(claim: NodeClaim, types: Mapping[str, InstanceType]) -> tuple[str, tuple[Override, ...]]:
    """Return how to buy for a claim: spot where it is allowed and offered, else on demand."""
    spot = _overrides(claim, types, labels.SPOT)
    on_demand = _overrides(claim, types, labels.ON_DEMAND)
    if not spot:
        return labels.ON_DEMAND, on_demand
    # Spot that costs more than the cheapest on demand is nobody's bargain.
    ceiling = min((o.price for o in on_demand), default=None)
    kept = tuple(o for o in spot if ceiling is None or o.price <= ceiling)
    return (labels.SPOT, kept) if kept else (labels.ON_DEMAND, on_demand)


def _overrides(
    claim: NodeClaim, types: Mapping[str, InstanceType], capacity_type: str
) -> tuple[Override, ...]:
    allowed = claim.requirements.get(labels.CAPACITY_TYPE)
    if allowed is not None and not allowed.has(capacity_type):
        return ()
    offered = [
        (name, offers)
        for name in claim.instance_types
        if name in types and (offers := _offers(types[name], claim.requirements, capacity_type))
    ]
    offered.sort(key=lambda item: (min(o.price for o in item[1]), item[0]))
    most = _MOST_TYPES_V1ALPHA5 if claim.generation is Generation.V1ALPHA5 else _MOST_TYPES
    kept = _keeping_choice([types[name] for name, _ in offered], claim.requirements, most)
    return tuple(o for n in kept for o in offered[n][1])[:_MOST_OVERRIDES]


def _keeping_choice(types: Sequence[InstanceType], requirements: Requirements, most: int) -> list[int]:
    """Return, by number and in order, which of `types` to ask for.

    Those that `minValues` need come first, then the cheapest, as types are in order of price.
    """
    needed: dict[int, None] = {}
    for requirement in requirements.in_order():
        seen: set[str] = set()
        for number, one in enumerate(types):
            own = one.requirements.get(requirement.key)
            new = own.values - seen if own is not None and not own.complement else frozenset()
            if len(seen) >= (requirement.min_values or 0):
                break
            if new:
                seen |= new
                needed[number] = None
    rest = (number for number in range(len(types)) if number not in needed)
    return sorted([*needed, *rest][:most])


def _offers(
    instance_type: InstanceType, requirements: Requirements, capacity_type: str
) -> tuple[Override, ...]:
    return tuple(
        Override(instance_type.name, o.zone, o.price)
        for o in sorted(instance_type.offerings)
        if o.available and o.capacity_type == capacity_type and requirements.intersects(o.requirements())
    )


def deal(claims: Sequence[NodeClaim], instances: Sequence[Instance]) -> dict[str, Instance]:
    """Give each claim that has no instance yet one that no claim has, in the order of their marks.

    `claims` are all of one call, those with an instance included.
    """
    taken = {c.provider_id for c in claims if c.provider_id}
    free = iter(sorted((i for i in instances if i.provider_id not in taken), key=lambda i: i.id))
    waiting = sorted((c for c in claims if not c.provider_id), key=_place)
    return {claim.name: instance for claim, instance in zip(waiting, free, strict=False)}


def _place(claim: NodeClaim) -> tuple[int, str]:
    mark = LaunchMark.of(claim)
    return (mark.index if mark is not None else 0, claim.name)


def exhausted_offerings(request: FleetRequest, answer: FleetAnswer) -> tuple[OfferingKey, ...]:
    """Return the offerings that EC2's errors say have run out, sorted."""
    keys = {
        (request.capacity_type, o.instance_type, o.zone)
        for error in answer.errors
        if error.capacity
        for o in request.overrides
        if error.instance_type in ("", o.instance_type) and error.zone in ("", o.zone)
    }
    return tuple(sorted(keys))
