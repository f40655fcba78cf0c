"""The algebra of label requirements, with Karpenter's semantics.

A requirement is a set of allowed values for one label key: either the values listed, or the complement
of those listed, in both cases within optional integer bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

_LARGEST_INT: Final = 2**63 - 1
_SMALLEST_INT: Final = -(2**63)


class Operator(StrEnum):
    """How a requirement was written, or would be written now."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    GTE = "Gte"
    LTE = "Lte"


def _as_int(value: str) -> int | None:
    try:
        return int(value)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Requirement:
    """The values one label may take.

    `complement` says that `values` are those excluded. The bounds are inclusive and only kept while
    the set is a complement: a set of listed values is filtered by them instead.
    `min_values` is how many different values a launch must stay flexible over.
    """

    key: str
    values: frozenset[str] = frozenset()
    complement: bool = False
    at_least: int | None = None
    at_most: int | None = None
    min_values: int | None = None

    @classmethod
    def of(
        cls, key: str, operator: Operator, values: Iterable[str] = (), *, min_values: int | None = None
    ) -> Requirement:
        """Build the requirement that a manifest writes as `key operator values`.

        Raises:
            ValueError: a bound has not exactly one integer.
        """
        listed = frozenset(values)
        match operator:
            case Operator.IN:
                return cls(key, listed, min_values=min_values)
            case Operator.NOT_IN:
                return cls(key, listed, complement=True, min_values=min_values)
            case Operator.EXISTS:
                return cls(key, complement=True, min_values=min_values)
            case Operator.DOES_NOT_EXIST:
                return cls(key, min_values=min_values)
            case _:
                return cls._bound(key, operator, listed, min_values)

    @classmethod
    def _bound(
        cls, key: str, operator: Operator, values: frozenset[str], min_values: int | None
    ) -> Requirement:
        bound = _as_int(next(iter(values))) if len(values) == 1 else None
        if bound is None:
            raise ValueError(f"{operator.value} needs exactly one integer, not {sorted(values)}")
        at_least = {Operator.GT: bound + 1, Operator.GTE: bound}.get(operator)
        at_most = {Operator.LT: bound - 1, Operator.LTE: bound}.get(operator)
        if (at_least or 0) > _LARGEST_INT or (at_most or 0) < _SMALLEST_INT:
            return cls(key, min_values=min_values)
        return cls(key, complement=True, at_least=at_least, at_most=at_most, min_values=min_values)

    @property
    def operator(self) -> Operator:
        """How this set is written: a bounded complement without exclusions still reads Exists."""
        if self.complement:
            return Operator.NOT_IN if self.values else Operator.EXISTS
        return Operator.IN if self.values else Operator.DOES_NOT_EXIST

    @property
    def single(self) -> str | None:
        """The one value allowed, or None where there are none or more."""
        return next(iter(self.values)) if not self.complement and len(self.values) == 1 else None

    def has(self, value: str) -> bool:
        """Tell whether the label may be `value`."""
        return (value in self.values) != self.complement and self._within(value)

    def _within(self, value: str) -> bool:
        if self.at_least is None and self.at_most is None:
            return True
        number = _as_int(value)
        if number is None:
            return False
        return (self.at_least is None or number >= self.at_least) and (
            self.at_most is None or number <= self.at_most
        )

    def intersection(self, other: Requirement) -> Requirement:
        """Return the values both allow; contradictory bounds allow none."""
        if self is other:
            return self
        at_least = _tighter(self.at_least, other.at_least, max)
        at_most = _tighter(self.at_most, other.at_most, min)
        min_values = _tighter(self.min_values, other.min_values, max)
        if at_least is not None and at_most is not None and at_least > at_most:
            return Requirement(self.key, min_values=min_values)
        if self.complement and other.complement:
            excluded = self.values | other.values
            return Requirement(self.key, excluded, True, at_least, at_most, min_values)  # noqa: FBT003
        if self.complement:
            listed = other.values - self.values
        elif other.complement:
            listed = self.values - other.values
        else:
            listed = self.values & other.values
        bounds = Requirement(self.key, complement=True, at_least=at_least, at_most=at_most)
        return Requirement(self.key, frozenset(v for v in listed if bounds._within(v)), min_values=min_values)

    def intersects(self, other: Requirement) -> bool:
        """Tell whether some value is allowed by both."""
        met = self.intersection(other)
        return met.complement or bool(met.values)

    def written(self) -> tuple[tuple[Operator, tuple[str, ...]], ...]:
        """Return the operators and values a manifest needs to say this, in a fixed order."""
        bounds = tuple(
            (operator, (str(bound),))
            for operator, bound in ((Operator.GTE, self.at_least), (Operator.LTE, self.at_most))
            if bound is not None
        )
        if bounds and not self.values:
            return bounds
        return ((self.operator, tuple(sorted(self.values))), *bounds)

    def __str__(self) -> str:
        return " and ".join(
            f"{self.key} {operator.value}" + (f" {list(values)}" if values else "")
            for operator, values in self.written()
        )


def _tighter(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


class Requirements(Mapping[str, Requirement]):
    """An immutable conjunction of requirements, one per label key."""

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            known = by_key.get(requirement.key)
            by_key[requirement.key] = known.intersection(requirement) if known else requirement
        self._by_key = by_key

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return the requirements that say exactly `labels`."""
        return cls(Requirement(key, frozenset((value,))) for key, value in labels.items())

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self._by_key.values()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Requirements):
            return self._by_key == other._by_key
        return NotImplemented

    def __reduce__(self) -> tuple[type[Requirements], tuple[tuple[Requirement, ...]]]:
        return Requirements, (tuple(self._by_key.values()),)

    def __repr__(self) -> str:
        return f"Requirements({', '.join(str(r) for r in self.in_order())})"

    def in_order(self) -> tuple[Requirement, ...]:
        """Return the requirements by key, sorted."""
        return tuple(self._by_key[key] for key in sorted(self._by_key))

    def with_(self, more: Iterable[Requirement] | Requirements) -> Requirements:
        """Return the conjunction of these requirements and `more`."""
        extra = more.values() if isinstance(more, Requirements) else more
        return Requirements((*self._by_key.values(), *extra))

    def without(self, keys: Iterable[str]) -> Requirements:
        """Return these requirements less those on `keys`."""
        dropped = frozenset(keys)
        return Requirements(r for r in self._by_key.values() if r.key not in dropped)

    def conflict(
        self, incoming: Requirements, *, may_be_undefined: frozenset[str] = frozenset()
    ) -> Requirement | None:
        """Return the first of `incoming` (by key) that a node described by `self` cannot meet, if any.

        A label that `self` does not define is met only by NotIn and DoesNotExist, or by anything
        where the key is in `may_be_undefined` (the well-known labels, for nodes still to be bought).
        Two negatives are compatible even where no value satisfies both.
        """
        for key in sorted(incoming):
            wanted = incoming[key]
            offered = self._by_key.get(key)
            negative = wanted.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
            if offered is None:
                if not negative and key not in may_be_undefined:
                    return wanted
            elif not (
                negative and offered.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
            ) and not offered.intersects(wanted):
                return wanted
        return None

    def compatible(self, incoming: Requirements, *, may_be_undefined: frozenset[str] = frozenset()) -> bool:
        """Tell whether a node described by `self` meets all of `incoming`; see `conflict`."""
        return self.conflict(incoming, may_be_undefined=may_be_undefined) is None

    def intersects(self, other: Requirements) -> bool:
        """Tell whether every key both define has a common value, two negatives counting as common."""
        shared = self._by_key.keys() & other._by_key.keys()
        negatives = (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
        return all(
            self._by_key[key].intersects(other[key])
            or (self._by_key[key].operator in negatives and other[key].operator in negatives)
            for key in shared
        )


ANYTHING: Final = Requirements()
