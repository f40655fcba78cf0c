"""Instance types as the JSON of Karpenter's KWOK provider writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.kwok.instance_types import instance_type
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering


class _Requirement(msgspec.Struct):
    key: str
    operator: str
    values: list[str] = []


class _Offering(msgspec.Struct, rename="pascal"):
    price: float
    requirements: list[_Requirement]
    available: bool = True


class _InstanceType(msgspec.Struct, rename="camel"):
    name: str
    architecture: str
    operating_systems: list[str]
    resources: dict[str, str]
    offerings: list[_Offering]


_DECODER: Final = msgspec.json.Decoder(list[_InstanceType])


def read_catalogue(path: Path) -> tuple[InstanceType, ...]:
    """Read instance types, sorted by name; every one keeps 100m CPU and 10Mi for itself.

    Raises:
        ManifestError: the file cannot be read, or is no such catalogue; it names the type and the field.
    """
    name = str(path)
    try:
        written = _DECODER.decode(path.read_bytes())
    except OSError as error:
        raise ManifestError(name, "catalogue", "", error.strerror or "cannot be read") from None
    except msgspec.DecodeError as error:
        raise ManifestError(name, "catalogue", "", f"is no catalogue of instance types: {error}") from None
    return tuple(sorted((_read(name, one) for one in written), key=lambda t: t.name))


def _read(file: str, written: _InstanceType) -> InstanceType:
    if not written.operating_systems:
        raise ManifestError(file, f"instance type {written.name}", "operatingSystems", "is empty")
    offerings = tuple(_offering(file, written.name, o) for o in written.offerings)
    try:
        return instance_type(
            written.name,
            architecture=written.architecture,
            operating_systems=written.operating_systems,
            resources=written.resources,
            offerings=offerings,
        )
    except ValueError as error:
        raise ManifestError(file, f"instance type {written.name}", "resources", str(error)) from None


def _offering(file: str, of: str, written: _Offering) -> Offering:
    known = {r.key: r.values[0] for r in written.requirements if r.operator == "In" and len(r.values) == 1}
    for key in (labels.ZONE, labels.CAPACITY_TYPE):
        if key not in known:
            raise ManifestError(file, f"instance type {of}", "offerings", f"one has no single {key}")
    return Offering(
        zone=known[labels.ZONE],
        capacity_type=known[labels.CAPACITY_TYPE],
        price=written.price,
        available=written.available,
    )
