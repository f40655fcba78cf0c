"""Which values a label may have, and the terms made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Labels: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which values a label may have: `listed` alone, or with `others` all but `listed`.

    Whole numbers from `least` to `most` only, where these are finite. `missing`: the label may be absent.
    """

    listed: frozenset[str] = frozenset()
    others: bool = True
    least: float = -math.inf
    most: float = math.inf
    missing: bool = True

    def has(self, value: str | None) -> bool:
        if value is None:
            return self.missing
        return self._in_bounds(value) and (value in self.listed) is not self.others

    def _in_bounds(self, value: str) -> bool:
        if not self.bounded:
            return True
        try:
            return self.least <= int(value) <= self.most
        except ValueError:
            return False

    @property
    def bounded(self) -> bool:
        return self.least != -math.inf or self.most != math.inf

    def both(self, other: Allowed) -> Allowed:
        """Return what this and `other` allow."""
        least, most = max(self.least, other.least), min(self.most, other.most)
        missing = self.missing and other.missing
        if self.others and other.others:
            return Allowed(self.listed | other.listed, least=least, most=most, missing=missing)
        concrete = other if self.others else self
        rest = self if self.others else other
        return Allowed(frozenset(filter(rest.has, concrete.listed)), others=False, missing=missing)

    def shares(self, other: Allowed) -> bool:
        """Return whether some value, or none at all, is allowed by this and `other`."""
        both = self.both(other)
        return both.missing or bool(both.listed if not both.others else both.least <= both.most)

    def within(self, other: Allowed) -> bool:
        """Return whether `other` allows all that this does."""
        if self.missing and not other.missing:
            return False
        if not self.others:
            return all(other.has(value) for value in self.listed)
        if not other.others:
            return False
        inside = other.least <= self.least and self.most <= other.most
        return inside and not any(self.has(value) for value in other.listed)


ANY: Final = Allowed()
Term: TypeAlias = tuple[tuple[str, Allowed], ...]


def allowed(operator: str, values: Sequence[Any] = ()) -> Allowed:
    """Return what one line of a selector allows; ValueError if there is no such operator."""
    listed = frozenset(str(value) for value in values or ())
    match operator:
        case "In":
            return Allowed(listed, others=False, missing=False)
        case "NotIn":
            return Allowed(listed)
        case "Exists":
            return Allowed(missing=False)
        case "DoesNotExist":
            return Allowed(others=False)
        case "Gt":
            return Allowed(least=int(values[0]) + 1, missing=False)
        case "Lt":
            return Allowed(most=int(values[0]) - 1, missing=False)
        case "Gte":
            return Allowed(least=int(values[0]), missing=False)
        case "Lte":
            return Allowed(most=int(values[0]), missing=False)
        case _:
            raise ValueError(f"{operator!r} is no operator")


def term(expressions: Sequence[Mapping[str, Any]]) -> Term:
    return tuple((e["key"], allowed(e["operator"], e.get("values", ()))) for e in expressions or ())


def merged(lines: Sequence[tuple[str, Allowed]]) -> dict[str, Allowed]:
    """Return, by key, what all lines allow together."""
    found: dict[str, Allowed] = {}
    for key, values in lines:
        found[key] = found[key].both(values) if key in found else values
    return found


@dataclass(frozen=True)
class Selector:
    """A label selector; none at all selects nothing, an empty one everything."""

    lines: Term = ()
    nothing: bool = False

    @classmethod
    def of(cls, written: Mapping[str, Any] | None) -> Selector:
        if written is None:
            return cls(nothing=True)
        equal = [(key, allowed("In", [value])) for key, value in (written.get("matchLabels") or {}).items()]
        return cls((*equal, *term(written.get("matchExpressions") or ())))

    def selects(self, labels: Labels) -> bool:
        return not self.nothing and all(values.has(labels.get(key)) for key, values in self.lines)
