"""Requirements as pools and claims write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol, TypeAlias

from msgspec import Meta

from treenail.adapters.api.diagnosis import under
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.interning import interned, interned_all
from treenail.adapters.api.karpenter.restrictions import check_allowed, check_allowed_beside_pool
from treenail.adapters.api.model import StrictModel
from treenail.adapters.api.names import check_key, check_labels, check_value
from treenail.adapters.api.selectors import check_bound
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.requirements import Operator, Requirement, Requirements

Key: TypeAlias = Annotated[str, Meta(min_length=1, max_length=316)]
MinValues: TypeAlias = Annotated[int, Meta(ge=1, le=50)]

_LISTING: Final = (Operator.IN, Operator.NOT_IN)
_WITHOUT_VALUES: Final = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
CAPACITY_TYPES: Final = frozenset({labels.SPOT, labels.ON_DEMAND, labels.RESERVED})


class RequirementModel(StrictModel, kw_only=True):
    """A requirement of v1."""

    key: Key
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    values: tuple[str, ...] = ()
    min_values: MinValues | None = None


class OldRequirementModel(StrictModel, kw_only=True):
    """A requirement of v1alpha5."""

    key: Key
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


class BetaRequirementModel(OldRequirementModel, kw_only=True):
    """A requirement of v1beta1."""

    min_values: MinValues | None = None


class WrittenRequirement(Protocol):
    """The fields that requirements have in all kinds."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> tuple[str, ...]: ...


AnyRequirement: TypeAlias = RequirementModel | BetaRequirementModel | OldRequirementModel


@dataclass(frozen=True, slots=True)
class Read:
    """Requirements, and the paths of what they set that is accepted though not acted on."""

    requirements: Requirements
    not_acted_on: tuple[str, ...] = ()


def of_pool(models: Sequence[AnyRequirement], at: str, generation: Generation) -> Read:
    """Return the requirements of a pool at the path `at`.

    Raises:
        FieldError: one breaks a rule of the API, or asks for a label that is restricted.
    """
    return _checked(models, at, lambda key, path: check_allowed(key, path, generation))


def of_overlay(models: Sequence[WrittenRequirement], at: str) -> Read:
    """Return the requirements of a node overlay at the path `at`: as a v1 pool's, which it may name besides.

    Raises:
        FieldError: one breaks a rule of the API, or asks for a label that is restricted.
    """
    for n, model in enumerate(models):
        if Operator(model.operator) is Operator.NOT_IN and not model.values:
            raise FieldError(f"{at}[{n}].values", "NotIn needs at least one value")
    return _checked(models, at, check_allowed_beside_pool)


def _checked(models: Sequence[WrittenRequirement], at: str, check: Callable[[str, str], None]) -> Read:
    not_acted_on: list[str] = []
    for n, model in enumerate(models):
        path = f"{at}[{n}]"
        check_key(model.key, f"{path}.key")
        check(model.key, f"{path}.key")
        _check_values(model, path)
        if model.values and Operator(model.operator) in _WITHOUT_VALUES:
            not_acted_on.append(f"{path}.values")
    return Read(_conjunction(models), tuple(not_acted_on))


def of_claim(models: Sequence[AnyRequirement], at: str, *, anew: bool) -> Requirements:
    """Return the requirements of a claim at the path `at`.

    Unlike those of pools, they may name the pool, and a bound that came from a pod may be below zero. A claim
    that is not made `anew` may ask for any label: an API server took it, by the definition it had then.

    Raises:
        FieldError: one breaks a rule of the API, or asks `anew` for a label that is restricted.
    """
    for n, model in enumerate(models):
        check_key(model.key, f"{at}[{n}].key")
        operator = Operator(model.operator)
        if anew:
            check_allowed_beside_pool(model.key, f"{at}[{n}].key")
            if operator is Operator.IN:
                _check_listed(model, f"{at}[{n}]")
        if operator in _LISTING or operator in _WITHOUT_VALUES:
            _check_label_values(model.values, f"{at}[{n}]")
        else:
            check_bound(model.operator, model.values, f"{at}[{n}].values")
    return _conjunction(models)


def check_pool_labels(own: dict[str, str], at: str, generation: Generation) -> None:
    """Raise FieldError unless a pool of `generation` may give its nodes these labels."""
    check_labels(own, at)
    for key in own:
        check_allowed(key, under(at, key), generation)


def _conjunction(models: Sequence[WrittenRequirement]) -> Requirements:
    return Requirements(
        Requirement.of(
            interned(labels.normalized(m.key)),
            Operator(m.operator),
            interned_all(m.values),
            min_values=_least(m),
        )
        for m in models
    )


def _least(model: WrittenRequirement) -> int | None:
    return model.min_values if isinstance(model, RequirementModel | BetaRequirementModel) else None


def _check_values(model: WrittenRequirement, at: str) -> None:
    operator = Operator(model.operator)
    if operator is Operator.IN:
        _check_listed(model, at)
        if model.key == labels.CAPACITY_TYPE and CAPACITY_TYPES.isdisjoint(model.values):
            raise FieldError(f"{at}.values", f"none of them is one of {', '.join(sorted(CAPACITY_TYPES))}")
    if operator in _LISTING or operator in _WITHOUT_VALUES:
        _check_label_values(model.values, at)
    else:
        check_bound(model.operator, model.values, f"{at}.values", negative=False)


def _check_label_values(values: Sequence[str], at: str) -> None:
    for n, value in enumerate(values):
        check_value(value, f"{at}.values[{n}]")


def _check_listed(model: WrittenRequirement, at: str) -> None:
    if not model.values:
        raise FieldError(f"{at}.values", "In needs at least one value")
    least = _least(model)
    if least is not None and least > len(model.values):
        raise FieldError(f"{at}.minValues", f"{least} is more than the {len(model.values)} value(s) listed")
