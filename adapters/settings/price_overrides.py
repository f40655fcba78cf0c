"""The file of price overrides."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from treenail.adapters.api.diagnosis import first_problem, quoted
from treenail.adapters.api.errors import FieldError, ManifestError
from treenail.adapters.api.yaml_documents import NotYamlError, parse
from treenail.domain.model.price_overrides import PriceOverride, PriceOverrides

_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9*][a-z0-9.*-]*$")]
_SOME = msgspec.Meta(min_length=1)


class _Override(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    instance_types: Annotated[tuple[_Name, ...], _SOME] = ("*",)
    capacity_types: Annotated[tuple[Literal["on-demand", "spot", "reserved"], ...], _SOME] | None = None
    factor: float | None = None
    price: float | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    overrides: tuple[_Override, ...]


def read_price_overrides(path: Path) -> PriceOverrides:
    """Read a file of price overrides, in YAML or JSON.

    Raises:
        ManifestError: it cannot be read, or something in it makes no sense; it names the file and the field.
    """
    name = str(path)
    try:
        documents = parse(path.read_bytes())
    except OSError as error:
        raise ManifestError(name, "", "", error.strerror or "cannot be read") from None
    except (NotYamlError, ValueError) as error:
        raise ManifestError(name, "", "", str(error)) from None
    if len(documents) != 1:
        raise ManifestError(name, "", "", f"one document with overrides is expected, not {len(documents)}")
    try:
        return _read(documents[0])
    except FieldError as error:
        raise ManifestError(name, "", error.field, error.problem) from None


def _read(document: object) -> PriceOverrides:
    problem = first_problem(document, _File)
    if problem is not None:
        raise problem
    written = msgspec.convert(document, _File)
    return PriceOverrides(tuple(_override(one, f"overrides[{n}]") for n, one in enumerate(written.overrides)))


def _override(written: _Override, path: str) -> PriceOverride:
    if (written.factor is None) == (written.price is None):
        raise FieldError(path, "just one of factor and price is needed")
    for field, number in (("factor", written.factor), ("price", written.price)):
        if number is not None and not (math.isfinite(number) and number > 0):
            raise FieldError(f"{path}.{field}", f"{quoted(number)} is not a number above 0")
    return PriceOverride(
        instance_types=written.instance_types,
        capacity_types=written.capacity_types or (),
        factor=written.factor,
        price=written.price,
    )
