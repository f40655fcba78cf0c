"""treenail.sh/v1alpha1 Account and ClusterSnapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Network
from typing import Annotated, Final, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Meta, field

from treenail.adapters.api.account import (
    Account,
    ClusterSnapshot,
    Image,
    PlacementGroup,
    ReservedCapacity,
    SecurityGroup,
    Subnet,
)
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import NotEmpty, Positive, StrictModel, Time
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.capacity_reservations import MatchCriteria
from treenail.domain.model.instants import in_utc

_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_ZONE: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-\d[a-z]")
_TYPE: Final = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")
_OWN: Final = "self"
_NAME_TAG: Final = "Name"
_M = TypeVar("_M")
_V = TypeVar("_V")
Tags: TypeAlias = dict[str, str]
Price: TypeAlias = Annotated[float, Meta(gt=0, le=1e6)]


class _Identified(Protocol):
    id: str


class SubnetModel(StrictModel, kw_only=True):
    """A subnet."""

    id: NotEmpty
    zone: NotEmpty
    cidr: str = ""
    tags: Tags | None = None


class SecurityGroupModel(StrictModel, kw_only=True):
    """A security group."""

    id: NotEmpty
    name: str = ""
    tags: Tags | None = None


class ImageModel(StrictModel, kw_only=True):
    """A machine image."""

    id: NotEmpty
    architecture: Literal["amd64", "arm64"] = "amd64"
    name: str = ""
    owner: str = _OWN
    tags: Tags | None = None


class CapacityReservationModel(StrictModel, kw_only=True):
    """A capacity reservation."""

    id: NotEmpty
    instance_type: NotEmpty
    zone: NotEmpty
    instances: Positive
    type: Literal["default", "capacity-block"] = "default"
    instance_match_criteria: Literal["open", "targeted"] = "targeted"
    owner_id: Annotated[str, Meta(pattern=r"^\d{12}$", extra={"wanted": "an account of 12 digits"})] = field(
        default="123456789012", name="ownerID"
    )
    interruptible: bool = False
    end_time: Time | None = None
    tags: Tags | None = None


class PlacementGroupModel(StrictModel, kw_only=True):
    """A placement group."""

    name: NotEmpty
    id: NotEmpty
    strategy: Literal["cluster", "partition", "spread"] = "cluster"
    partitions: Annotated[int, Meta(ge=0, le=7)] = 0


class PricesModel(StrictModel):
    """Prices in US dollars per hour."""

    on_demand: dict[str, Price] = field(default_factory=dict)
    spot: dict[str, dict[str, Price]] = field(default_factory=dict)


class AccountSpecModel(StrictModel):
    """Subnets, images, prices and the like that an account has in one region."""

    region: str = ""
    subnets: tuple[SubnetModel, ...] | None = None
    security_groups: tuple[SecurityGroupModel, ...] | None = None
    images: tuple[ImageModel, ...] | None = None
    roles: tuple[NotEmpty, ...] | None = None
    capacity_reservations: tuple[CapacityReservationModel, ...] = ()
    placement_groups: tuple[PlacementGroupModel, ...] | None = None
    prices: PricesModel = field(default_factory=PricesModel)


class AccountModel(StrictObject, kw_only=True):
    """treenail.sh/v1alpha1 Account."""

    spec: AccountSpecModel


class ClusterSnapshotSpecModel(StrictModel, kw_only=True):
    """The time of a snapshot, and the kind of its file's last object, which shows that the file is whole."""

    taken_at: Time
    ends_with: Literal["ClusterSnapshotEnd"] | None = None
    not_read: tuple[str, ...] = ()


class ClusterSnapshotModel(StrictObject, kw_only=True):
    """treenail.sh/v1alpha1 ClusterSnapshot."""

    spec: ClusterSnapshotSpecModel


class ClusterSnapshotEndModel(StrictObject, kw_only=True):
    """treenail.sh/v1alpha1 ClusterSnapshotEnd, which says nothing but that the file is whole."""


def cluster_snapshot_end(model: ClusterSnapshotEndModel, _reading: Reading) -> Translation:
    """Return nothing; FieldError says what is wrong with it."""
    model.metadata.validate()
    return Translation(objects=())


def cluster_snapshot(model: ClusterSnapshotModel, _reading: Reading) -> Translation:
    """Return the head of a snapshot; FieldError says what is wrong with it."""
    model.metadata.validate()
    found = ClusterSnapshot(
        **model.metadata.identity,
        taken_at=in_utc(model.spec.taken_at),
        not_read=model.spec.not_read,
    )
    return Translation(objects=(found,))


def account(model: AccountModel, _reading: Reading) -> Translation:
    """Return the account; FieldError says what is wrong with it."""
    model.metadata.validate()
    spec = model.spec
    _check(spec)
    found = Account(
        **model.metadata.identity,
        region=spec.region or _region_of(spec),
        subnets=None if spec.subnets is None else _subnets(spec.subnets),
        security_groups=_all(spec.security_groups, _security_group),
        images=_all(spec.images, _image),
        roles=spec.roles,
        capacity_reservations=tuple(map(_reservation, spec.capacity_reservations)),
        placement_groups=_all(spec.placement_groups, _placement_group),
        on_demand_prices=spec.prices.on_demand,
        spot_prices={
            (name, zone): price for name, zones in spec.prices.spot.items() for zone, price in zones.items()
        },
    )
    return Translation(objects=(found,))


def _all(models: Sequence[_M] | None, value: Callable[[_M], _V]) -> tuple[_V, ...] | None:
    return None if models is None else tuple(map(value, models))


def _security_group(model: SecurityGroupModel) -> SecurityGroup:
    return SecurityGroup(id=model.id, name=model.name, tags=model.tags)


def _image(model: ImageModel) -> Image:
    return Image(
        id=model.id,
        arch=model.architecture,
        name=model.name,
        owner=model.owner,
        tags=model.tags,
    )


def _reservation(model: CapacityReservationModel) -> ReservedCapacity:
    return ReservedCapacity(
        id=model.id,
        instance_type=model.instance_type,
        zone=model.zone,
        instances=model.instances,
        kind=model.type,
        match_criteria=MatchCriteria(model.instance_match_criteria),
        owner=model.owner_id,
        interruptible=model.interruptible,
        ends_at=in_utc(model.end_time) if model.end_time else None,
        tags=model.tags,
    )


def _placement_group(model: PlacementGroupModel) -> PlacementGroup:
    return PlacementGroup(
        name=model.name,
        id=model.id,
        partitions=model.partitions,
        spread=model.strategy == "spread",
    )


def _subnets(models: Sequence[SubnetModel]) -> tuple[Subnet, ...]:
    """Return the subnets; one that does not say its addresses has a block of 8,187 that is nobody else's."""
    written = [IPv4Network(one.cidr) for one in models if one.cidr]
    free = (
        block
        for whole in ("100.64.0.0/10", "10.0.0.0/8")
        for block in IPv4Network(whole).subnets(new_prefix=19)
        if not any(block.overlaps(other) for other in written)
    )
    return tuple(
        Subnet(
            id=one.id,
            zone=one.zone,
            cidr=one.cidr or _next(free, f"spec.subnets[{n}].cidr"),
            name=(one.tags or {}).get(_NAME_TAG, ""),
            tags=one.tags,
        )
        for n, one in enumerate(models)
    )


def _next(free: Iterator[IPv4Network], at: str) -> str:
    block = next(free, None)
    if block is None:
        raise FieldError(at, "is missing: the other subnets leave no block free")
    return str(block)


# --- checks


def _check(spec: AccountSpecModel) -> None:
    if spec.subnets is not None and not spec.subnets:
        raise FieldError("spec.subnets", "is empty: nodes need a subnet; leave it out where none is known")
    if spec.region and not _REGION.fullmatch(spec.region):
        raise FieldError("spec.region", f"{quoted(spec.region)} is no region such as us-east-1")
    for field_name, prefix, things in (
        ("subnets", "subnet-", spec.subnets or ()),
        ("securityGroups", "sg-", spec.security_groups or ()),
        ("images", "ami-", spec.images or ()),
        ("capacityReservations", "cr-", spec.capacity_reservations),
        ("placementGroups", "pg-", spec.placement_groups or ()),
    ):
        _check_ids(f"spec.{field_name}", prefix, things)
    _check_zones(spec)
    _check_blocks(spec.subnets or ())
    _check_reservations(spec.capacity_reservations)
    _check_types(spec)


def _check_ids(at: str, prefix: str, things: Sequence[_Identified]) -> None:
    seen: dict[str, int] = {}
    for n, thing in enumerate(things):
        if not thing.id.startswith(prefix):
            raise FieldError(f"{at}[{n}].id", f"{quoted(thing.id)} does not begin with {prefix}")
        if seen.setdefault(thing.id, n) != n:
            raise FieldError(f"{at}[{n}].id", f"{quoted(thing.id)} is that of {at}[{seen[thing.id]}] already")


def _zones(spec: AccountSpecModel) -> Iterator[tuple[str, str]]:
    yield from ((f"spec.subnets[{n}].zone", one.zone) for n, one in enumerate(spec.subnets or ()))
    yield from (
        (f"spec.capacityReservations[{n}].zone", one.zone) for n, one in enumerate(spec.capacity_reservations)
    )
    for name, zones in spec.prices.spot.items():
        yield from ((f"spec.prices.spot[{name}]", zone) for zone in zones)


def _region_of(spec: AccountSpecModel) -> str:
    return next((zone[:-1] for _, zone in _zones(spec)), "")


def _check_zones(spec: AccountSpecModel) -> None:
    region = spec.region or _region_of(spec)
    for at, zone in _zones(spec):
        if not _ZONE.fullmatch(zone):
            raise FieldError(at, f"{quoted(zone)} is no zone such as us-east-1a")
        if zone[:-1] != region:
            raise FieldError(at, f"{quoted(zone)} is not in {region}: an account is of one region")


def _check_blocks(subnets: Sequence[SubnetModel]) -> None:
    seen: list[tuple[int, IPv4Network]] = []
    for n, one in enumerate(subnets):
        at = f"spec.subnets[{n}].cidr"
        if not one.cidr:
            continue
        try:
            block = IPv4Network(one.cidr)
        except ValueError:
            raise FieldError(at, f"{quoted(one.cidr)} is no block of IPv4, such as 10.0.0.0/19") from None
        for other, taken in seen:
            if block.overlaps(taken):
                raise FieldError(at, f"{quoted(one.cidr)} overlaps that of spec.subnets[{other}], {taken}")
        seen.append((n, block))


def _check_reservations(reservations: Sequence[CapacityReservationModel]) -> None:
    for n, one in enumerate(reservations):
        if one.type == "capacity-block" and one.end_time is None:
            raise FieldError(f"spec.capacityReservations[{n}].endTime", "is missing: a capacity block ends")


def _check_types(spec: AccountSpecModel) -> None:
    named = (
        *(
            (f"spec.capacityReservations[{n}].instanceType", one.instance_type)
            for n, one in enumerate(spec.capacity_reservations)
        ),
        *(("spec.prices.onDemand", name) for name in spec.prices.on_demand),
        *(("spec.prices.spot", name) for name in spec.prices.spot),
    )
    for at, name in named:
        if not _TYPE.fullmatch(name):
            raise FieldError(at, f"{quoted(name)} is no instance type such as m5.large")
