"""CreateFleet calls: claims grouped into calls, marked, and instances assigned to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import ALL_SPOT, ANY, ClassZone, OfferingKey
from treenail.domain.model.causes import Cause
from treenail.domain.model.fleets import (
    CLUSTER_TAG,
    EFA,
    LAUNCH_TAG,
    NO_SPOT,
    SUBNET_FULL,
    FleetAnswer,
    FleetRequest,
    Instance,
    Override,
)
from treenail.domain.model.instance_types import place_of
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.taints import UNREGISTERED

_MARK: Final = re.compile("([^/]+)/([0-9]{1,9})/(.*)")
# Karpenter merges no more instances into one call.
_MOST_INSTANCES: Final = 1000
_NO_TAGS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLaunched:
    """An instance was bought for a claim, and the claim says so."""

    claim: NodeClaim
    instance: Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRanOut:
    """EC2 had no capacity in these offerings: (capacity type, instance type, zone), "*" being any.

    In `full_zones` the subnets of the node class have no address left, whatever is launched.
    """

    offerings: tuple[OfferingKey, ...]
    full_zones: tuple[ClassZone, ...] = ()


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
    """The mark of its launch on a claim: which call, which of its instances, and what was asked for."""

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


@dataclass(frozen=True, slots=True)
class _Everywhere:
    """The cluster's name and the tags of all that is launched."""

    cluster_name: str
    tags: Mapping[str, str]


def launch_name(claim: NodeClaim) -> str:
    """Return what a claim counts as in client tokens: another one after each launch that came to nothing."""
    failed = claim.annotations.get(labels.LAUNCH_ATTEMPTS, "")
    return f"{claim.name}#{failed}" if failed else claim.name


def launch_token(claims: Iterable[str]) -> str:
    """Return the client token of the call for `claims`, by launch name: for the same always the same."""
    return hashlib.blake2b(",".join(claims).encode(), digest_size=10).hexdigest()


def launches(
    claims: Sequence[NodeClaim],
    *,
    pool: NodePool,
    node_class: NodeClass,
    buyable: LaunchOptions,
    cluster_name: str,
    tags: Mapping[str, str] = _NO_TAGS,
) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
    """Group claims of one pool that ask for the same into as few calls as there can be.

    `tags` are those of all that the cluster launches; a node class's come before them.
    Return the calls, and the names of claims for which nothing is on offer any more.
    """
    general = _Everywhere(cluster_name, tags)
    groups: dict[tuple[object, ...], list[NodeClaim]] = {}
    chosen: dict[str, tuple[str, tuple[Override, ...]]] = {}
    hopeless: list[str] = []
    for claim in sorted(claims, key=lambda c: c.name):
        chosen[claim.name] = capacity_type, overrides = buyable.choose(claim)
        if overrides:
            groups.setdefault((capacity_type, overrides, _node_of(claim, pool)), []).append(claim)
        else:
            hopeless.append(claim.name)
    calls = [
        _launch(members[n : n + _MOST_INSTANCES], *chosen[members[0].name], pool, node_class, general)
        for members in groups.values()
        for n in range(0, len(members), _MOST_INSTANCES)
    ]
    return tuple(calls), tuple(hopeless)


def launch_again(
    claims: Sequence[NodeClaim],
    *,
    unmarked: Sequence[NodeClaim] = (),
    pool: NodePool,
    node_class: NodeClass,
    buyable: LaunchOptions,
    cluster_name: str,
    tags: Mapping[str, str] = _NO_TAGS,
) -> Launch | None:
    """Return the very call that all these claims (with one mark's token) were marked for.

    Some of the `unmarked` may be of it too: then it was never made. None where the call cannot be made
    again as it was: the token may not be used for another request.
    """
    marks = {c.name: mark for c in claims if (mark := LaunchMark.of(c)) is not None}
    if not marks or len(marks) < len(claims):
        return None
    chosen, node = buyable.choose(claims[0]), _node_of(claims[0], pool)
    if not chosen[1]:
        return None
    alike = [c for c in unmarked if buyable.choose(c) == chosen and _node_of(c, pool) == node]
    room = max(0, _MOST_INSTANCES - len(claims))
    for members in (claims, (*claims, *sorted(alike, key=lambda c: c.name)[:room])):
        ordered = sorted(members, key=lambda c: c.name)
        again = _launch(ordered, *chosen, pool, node_class, _Everywhere(cluster_name, tags))
        if all(again.marks()[name] == mark for name, mark in marks.items()):
            return again
    return None


def _node_of(claim: NodeClaim, pool: NodePool) -> tuple[object, ...]:
    """Return what launch templates say of a claim's node. It is one for all instances of a call."""
    decided = _decided_labels(claim, pool)
    kept = tuple(sorted(decided.items())), claim.taints, claim.startup_taints
    return *kept, _dedicated(claim), _with_efa(claim), _relaxed(claim), _ranked(claim)


def _dedicated(claim: NodeClaim) -> bool:
    """Return whether a claim wants hardware of its own, which it does only where it takes no other."""
    tenancy = claim.requirements.get(labels.INSTANCE_TENANCY)
    return tenancy is not None and not tenancy.has("default")


def _relaxed(claim: NodeClaim) -> bool:
    """Return whether a claim leaves less choice than the minValues of its pool ask for."""
    return claim.annotations.get(labels.MIN_VALUES_RELAXED) == "true"


def _ranked(claim: NodeClaim) -> bool:
    """Return whether a claim was planned with prices that EC2 does not know."""
    return labels.PRICE_OVERLAY_APPLIED in claim.annotations


def _with_efa(claim: NodeClaim) -> bool:
    return claim.requests.get(EFA, 0) > 0


def _launch(
    claims: Sequence[NodeClaim],
    capacity_type: str,
    overrides: tuple[Override, ...],
    pool: NodePool,
    node_class: NodeClass,
    everywhere: _Everywhere,
) -> Launch:
    names = tuple(c.name for c in claims)
    token = launch_token(map(launch_name, claims))
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
            **everywhere.tags,
            **node_class.tags,
            f"kubernetes.io/cluster/{everywhere.cluster_name}": "owned",
            CLUSTER_TAG: everywhere.cluster_name,
            **({pool.generation.pool_label: pool.name} if pool.name else {}),
            LAUNCH_TAG: token,
        },
        dedicated=_dedicated(first),
        efa=_with_efa(first),
        relaxed=_relaxed(first),
        ranked=_ranked(first),
    )
    return Launch(request=request, claims=names)


def _decided_labels(claim: NodeClaim, pool: NodePool) -> dict[str, str]:
    """Return what was decided on the labels of a claim's node.

    A claim that was given its instance says of that too: which must not make another call of the same one.
    """
    decided = pool.node_labels
    return {k: v for k, v in claim.labels.items() if k in decided or k not in labels.WELL_KNOWN}


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


def offering_of(claim: NodeClaim) -> OfferingKey:
    """Return the offering that a claim's instance was bought from."""
    known = claim.labels
    place = place_of(claim.zone, known.get(labels.RESERVATION_ID, ""), known.get(labels.PLACEMENT_GROUP, ""))
    return (claim.capacity_type, claim.instance_type, place)


def exhausted_offerings(request: FleetRequest, answer: FleetAnswer) -> tuple[OfferingKey, ...]:
    """Return the offerings that EC2's errors say have run out, sorted: all of spot at once, if need be.

    A reservation that is not there or not active any more is of no use either, while others may be. What may
    be had elsewhere in its zone has not run out: the next launch goes there. A placement group that holds no
    more in a zone holds no type there.
    """
    if request.capacity_type == labels.SPOT and any(error.code == NO_SPOT for error in answer.errors):
        return (ALL_SPOT,)
    keys = {
        (ANY, ANY, o.place) if error.spread_limit else (request.capacity_type, o.instance_type, o.place)
        for error in answer.errors
        if (error.capacity or (request.reservations and error.of_reservation)) and not error.elsewhere
        for o in request.overrides
        if error.instance_type in ("", o.instance_type) and error.zone in ("", o.zone)
    }
    return tuple(sorted(keys))


def full_zones(request: FleetRequest, answer: FleetAnswer) -> tuple[ClassZone, ...]:
    """Return the zones in which no subnet of the request's node class has an address left, sorted."""
    zones = {error.zone for error in answer.errors if error.code == SUBNET_FULL and not error.elsewhere}
    return tuple((request.node_class.ref, zone) for zone in sorted(zones) if zone)
