"""The algebra of label requirements, with Karpenter's semantics.

A requirement is a set of allowed values for one label key: either the values listed, or the complement
of those listed, in both cases within optional integer bounds.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar, overload

from treenail.domain.model.labels import LARGEST_INTEGER, SMALLEST_INTEGER, integer_of

D = TypeVar("D")


class Operator(StrEnum):
    """The operator with which a requirement was written, or would be written now."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    GTE = "Gte"
    LTE = "Lte"


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

    def __hash__(self) -> int:
        # Those that differ in the rest alone are few: it takes longer to hash than to compare them.
        return hash((self.key, self.values))

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
        bound = integer_of(next(iter(values))) if len(values) == 1 else None
        if bound is None:
            raise ValueError(f"{operator.value} needs exactly one integer, not {sorted(values)}")
        at_least = {Operator.GT: bound + 1, Operator.GTE: bound}.get(operator)
        at_most = {Operator.LT: bound - 1, Operator.LTE: bound}.get(operator)
        if (at_least or 0) > LARGEST_INTEGER or (at_most or 0) < SMALLEST_INTEGER:
            return cls(key, min_values=min_values)
        return cls(key, complement=True, at_least=at_least, at_most=at_most, min_values=min_values)

    @property
    def operator(self) -> Operator:
        """The operator that writes this set: a bounded complement without exclusions still reads Exists."""
        if self.complement:
            return Operator.NOT_IN if self.values else Operator.EXISTS
        return Operator.IN if self.values else Operator.DOES_NOT_EXIST

    @property
    def negative(self) -> bool:
        """True if the operator is NotIn or DoesNotExist, so that a node without the label meets this."""
        return self.complement == bool(self.values)

    @property
    def single(self) -> str | None:
        """The one value allowed, or None where there are none or more."""
        return next(iter(self.values)) if not self.complement and len(self.values) == 1 else None

    @property
    def chosen(self) -> str | None:
        """The value a node gets if none was chosen: always the same, None if none is a valid label.

        Of listed values it is the first as they are sorted, but "" only where there is no other; of all
        others the least integer that is allowed, from 0 on.
        """
        if not self.complement:
            return min(self.values, key=lambda value: (not value, value), default=None)
        number = max(self.at_least or 0, 0)
        while str(number) in self.values:
            number += 1
        return str(number) if self.at_most is None or number <= self.at_most else None

    def has(self, value: str) -> bool:
        """Return whether the label may be `value`."""
        return (value in self.values) != self.complement and _bounds_hold(value, self.at_least, self.at_most)

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
            return Requirement(
                self.key,
                _within(self.values | other.values, at_least, at_most),
                complement=True,
                at_least=at_least,
                at_most=at_most,
                min_values=min_values,
            )
        listed = _within(self._listed_in_both(other), at_least, at_most)
        return Requirement(self.key, listed, min_values=min_values)

    def _listed_in_both(self, other: Requirement) -> frozenset[str]:
        """Return the values both allow, bounds left aside, where at least one lists its values."""
        if self.complement:
            return other.values - self.values
        return self.values - other.values if other.complement else self.values & other.values

    def intersects(self, other: Requirement) -> bool:
        """Return whether some value is allowed by both, as two complements always do within their bounds."""
        if self.complement and other.complement:
            at_least = _tighter(self.at_least, other.at_least, max)
            at_most = _tighter(self.at_most, other.at_most, min)
            return at_least is None or at_most is None or at_least <= at_most
        if self.complement:
            return any(map(self.has, other.values))
        if other.complement:
            return any(map(other.has, self.values))
        return not self.values.isdisjoint(other.values)

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


def _bounds_hold(value: str, at_least: int | None, at_most: int | None) -> bool:
    """Return whether `value` is within the bounds, which a value that is no integer never is."""
    if at_least is None and at_most is None:
        return True
    number = integer_of(value)
    if number is None:
        return False
    return (at_least is None or number >= at_least) and (at_most is None or number <= at_most)


def _within(values: frozenset[str], at_least: int | None, at_most: int | None) -> frozenset[str]:
    if at_least is None and at_most is None:
        return values
    return frozenset(value for value in values if _bounds_hold(value, at_least, at_most))


def _tighter(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


class Requirements(Mapping[str, Requirement]):
    """An immutable conjunction of requirements, one per label key."""

    __slots__ = ("_by_key", "_hash")

    _by_key: dict[str, Requirement]
    _hash: int | None

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self._by_key = _conjunction({}, requirements)
        self._hash = None

    @classmethod
    def _of(cls, by_key: dict[str, Requirement]) -> Requirements:
        """Make a conjunction of `by_key` without a copy: the caller lets go of it."""
        made = cls.__new__(cls)
        made._by_key = by_key  # noqa: SLF001
        made._hash = None  # noqa: SLF001
        return made

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return the requirements that say exactly `labels`."""
        return cls._of({key: Requirement(key, frozenset((value,))) for key, value in labels.items()})

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    # Mapping offers all of these; the dictionary's own are five times as fast.
    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def keys(self) -> KeysView[str]:
        return self._by_key.keys()

    def values(self) -> ValuesView[Requirement]:
        return self._by_key.values()

    def items(self) -> ItemsView[str, Requirement]:
        return self._by_key.items()

    @overload
    def get(self, key: str, /) -> Requirement | None: ...
    @overload
    def get(self, key: str, /, default: Requirement | D) -> Requirement | D: ...
    def get(self, key: str, /, default: object = None) -> object:
        return self._by_key.get(key, default)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_key.values()))
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

    def labels(self) -> dict[str, str]:
        """Return the labels for which one value is left, by key: those given to `from_labels`, or more."""
        return {r.key: r.single for r in self.in_order() if r.single is not None}

    def on(self, keys: Iterable[str]) -> tuple[Requirement | None, ...]:
        """Return the requirement on each of `keys`, None where there is none."""
        return tuple(map(self._by_key.get, keys))

    def with_(self, more: Iterable[Requirement] | Requirements) -> Requirements:
        """Return the conjunction of these requirements and `more`."""
        extra = more.values() if isinstance(more, Requirements) else more
        return Requirements._of(_conjunction(self._by_key.copy(), extra))

    def without(self, keys: Iterable[str]) -> Requirements:
        """Return these requirements less those on `keys`."""
        dropped = frozenset(keys)
        return Requirements._of({key: r for key, r in self._by_key.items() if key not in dropped})

    def conflict(
        self, incoming: Requirements, *, may_be_undefined: frozenset[str] = frozenset()
    ) -> Requirement | None:
        """Return the first of `incoming` (by key) that a node described by `self` cannot meet, if any.

        A label that `self` does not define is met only by NotIn and DoesNotExist, or by anything
        where the key is in `may_be_undefined` (the well-known labels, for nodes still to be bought).
        Two negatives are compatible even where no value satisfies both.
        """
        if self.compatible(incoming, may_be_undefined=may_be_undefined):
            return None
        return next(r for r in incoming.in_order() if not self._meets(r, may_be_undefined))

    def compatible(self, incoming: Requirements, *, may_be_undefined: frozenset[str] = frozenset()) -> bool:
        """Return whether a node described by `self` meets all of `incoming`; see `conflict`."""
        for wanted in incoming._by_key.values():  # noqa: SIM110 (a generator takes twice as long)
            if not self._meets(wanted, may_be_undefined):
                return False
        return True

    def _meets(self, wanted: Requirement, may_be_undefined: frozenset[str]) -> bool:
        offered = self._by_key.get(wanted.key)
        if offered is None:
            return wanted.negative or wanted.key in may_be_undefined
        return offered is wanted or offered.intersects(wanted) or (wanted.negative and offered.negative)

    def intersects(self, other: Requirements) -> bool:
        """Return whether every key both define has a common value, two negatives counting as common."""
        for one in self._by_key.values():
            another = other._by_key.get(one.key)
            if (
                another is None
                or another is one
                or one.intersects(another)
                or (one.negative and another.negative)
            ):
                continue
            return False
        return True


def _conjunction(by_key: dict[str, Requirement], more: Iterable[Requirement]) -> dict[str, Requirement]:
    """Add `more` to `by_key` and return it."""
    for requirement in more:
        known = by_key.get(requirement.key)
        if known is not requirement:
            by_key[requirement.key] = requirement if known is None else known.intersection(requirement)
    return by_key


ANYTHING: Final = Requirements()
