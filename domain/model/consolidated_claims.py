"""The reasons for which nodes came in place of dearer ones, as their claims say it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from treenail.domain.model import labels
from treenail.domain.model.instants import read_instant, write_instant
from treenail.domain.model.nodes import NodeClaim


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """The shape that makes two nodes the same to whoever pays for them. What is not known of a node is ""."""

    pool: str
    instance_type: str
    zone: str
    capacity_type: str

    def __str__(self) -> str:
        return (
            " ".join(filter(None, (self.instance_type, self.zone, self.capacity_type))) or "an unknown type"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A node was bought at this time to save so many $/h, in place of nodes of the shapes it `replaced`."""

    saving: float
    at: datetime
    replaced: tuple[Shape, ...]


def shape_of(claim: NodeClaim) -> Shape:
    """Return the shape of a claim's node, as far as the claim's labels say it."""
    return Shape(claim.pool, claim.instance_type, claim.zone, claim.capacity_type)


def write_origins(origins: Sequence[Origin]) -> dict[str, str]:
    """Return the annotation with the reasons for which a claim is bought, none without `origins`.

    The first origin is the claim's own; the others are those of the nodes it replaces, latest first. Each is
    written as `<saving>/<time>/<shapes>`, a shape as `<pool>,<type>,<zone>,<capacity type>`, with `;` between
    shapes and a blank between origins. Times are written to the second, savings to a millionth of a dollar
    per hour.
    """
    return {labels.CONSOLIDATED: " ".join(map(_written, origins))} if origins else {}


def read_origins(claim: NodeClaim) -> tuple[Origin, ...] | None:
    """Return what a claim says it was bought for, nothing where it says nothing, None if it is unreadable."""
    text = claim.annotations.get(labels.CONSOLIDATED)
    if text is None:
        return ()
    origins = tuple(origin for part in text.split(" ") if (origin := _read(part)) is not None)
    return origins if len(origins) == text.count(" ") + 1 else None


def _written(origin: Origin) -> str:
    shapes = ";".join(
        f"{one.pool},{one.instance_type},{one.zone},{one.capacity_type}" for one in origin.replaced
    )
    return f"{origin.saving:.6f}/{write_instant(origin.at)}/{shapes}"


def _read(text: str) -> Origin | None:
    saving, _, rest = text.partition("/")
    time, _, shapes = rest.partition("/")
    at = read_instant(time)
    try:
        dollars = float(saving)
    except ValueError:
        return None
    replaced = tuple(map(_read_shape, shapes.split(";")))
    known = tuple(shape for shape in replaced if shape is not None)
    if at is None or not math.isfinite(dollars) or dollars < 0 or len(known) < len(replaced):
        return None
    return Origin(saving=dollars, at=at, replaced=known)


def _read_shape(text: str) -> Shape | None:
    match text.split(","):
        case [pool, instance_type, zone, capacity_type]:
            return Shape(pool, instance_type, zone, capacity_type)
    return None
