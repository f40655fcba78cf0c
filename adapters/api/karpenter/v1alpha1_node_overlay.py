"""karpenter.sh/v1alpha1 NodeOverlay."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.amounts import resources
from treenail.adapters.api.diagnosis import under
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.requirements import Key, of_overlay
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import WANTED, PlainQuantities, StrictModel
from treenail.adapters.api.names import check_key
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_overlays import NodeOverlay, PriceChange
from treenail.domain.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

# What Kubernetes itself counts on each node, which no overlay may change.
STANDARD_RESOURCES: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)

Weight: TypeAlias = Annotated[int, Meta(ge=1, le=10_000)]
# The patterns are Karpenter's; the length keeps a number within what a float holds.
Price: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]+(\.[0-9]+)?$",
        max_length=32,
        extra={WANTED: "a price in US dollars per hour (such as 0.05)"},
    ),
]
PriceAdjustment: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(([+-][0-9]*\.?[0-9]+)|(\+[0-9]*\.?[0-9]+%)|(-[0-9]{1,2}(\.[0-9]+)?%)|(-100%))$",
        max_length=32,
        extra={WANTED: "a change with its sign, in $/h or per cent, down to -100% (such as +0.05 or -10%)"},
    ),
]


class OverlayRequirementModel(StrictModel, kw_only=True):
    """A requirement of a NodeOverlay."""

    key: Key
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    values: tuple[str, ...] = ()


class NodeOverlaySpecModel(StrictModel, kw_only=True):
    """The spec of a NodeOverlay."""

    requirements: Annotated[tuple[OverlayRequirementModel, ...], Meta(max_length=100)]
    price: Price | None = None
    price_adjustment: PriceAdjustment | None = None
    capacity: PlainQuantities = field(default_factory=dict)
    weight: Weight | None = None


class NodeOverlayModel(StrictObject, kw_only=True):
    """karpenter.sh/v1alpha1 NodeOverlay. Its status is ours to write and not to read."""

    spec: NodeOverlaySpecModel
    status: dict[str, Any] = field(default_factory=dict)


def node_overlay(model: NodeOverlayModel, _reading: Reading) -> Translation:
    """Return the overlay; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    if spec.price is not None and spec.price_adjustment is not None:
        raise FieldError("spec.priceAdjustment", "cannot stand beside spec.price")
    for name in spec.capacity:
        if name in STANDARD_RESOURCES:
            raise FieldError(
                under("spec.capacity", name), "is no extended resource: an overlay cannot change it"
            )
        check_key(name, under("spec.capacity", name))
    read = of_overlay(spec.requirements, "spec.requirements")
    overlay = NodeOverlay(
        **meta.identity,
        generation=meta.generation,
        weight=spec.weight or 0,
        requirements=read.requirements,
        price=_price_change(spec),
        capacity=resources(spec.capacity, "spec.capacity"),
    )
    return Translation(objects=(overlay,), not_acted_on=read.not_acted_on)


def _price_change(spec: NodeOverlaySpecModel) -> PriceChange | None:
    if spec.price is not None:
        return PriceChange(written=spec.price, price=float(spec.price))
    written = spec.price_adjustment
    if written is None:
        return None
    if written.endswith("%"):
        return PriceChange(written=written, factor=1 + float(written[:-1]) / 100)
    return PriceChange(written=written, more=float(written))
