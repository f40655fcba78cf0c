"""CEL as selectors of devices use it: https://kubernetes.io/docs/reference/using-api/cel/.

Evaluated are the standard operators, macros and functions, `lowerAscii`, `upperAscii`, `split`, quantities
and semantic versions. A selector with anything else is not understood. What is literally of two types, such
as `1 == 1.0`, is compared here; the API server takes no such selector.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, Final

import celpy
from celpy import celtypes
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError, base_functions, operator_in

from treenail.domain.model.device_selectors import Match, Seen, SelectorError, flat
from treenail.domain.model.device_versions import version_of
from treenail.domain.model.devices import AttributeValue, Span, Traits, Version
from treenail.domain.model.resources import CPU, amount_of

# The API server takes no longer ones.
_LONGEST: Final = 10 * 1024
# A step is a node of the syntax tree, and takes some microseconds. What is done for each element of a map
# counts for as many elements as a device may have.
_MOST_STEPS: Final = 20_000
_MOST_ELEMENTS: Final = 32
_FOR_EACH: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})


class Program:
    """A selector, ready to run.

    Raises:
        SelectorError: it cannot be evaluated, or would take too long.
    """

    def __init__(self, expression: str) -> None:
        if len(expression) > _LONGEST:
            raise SelectorError(f"it is longer than {_LONGEST} characters")
        try:
            tree = _environment().compile(expression)
            if _steps(tree) > _MOST_STEPS:
                raise SelectorError("to evaluate it would take too long")
            self._runner = _environment().program(tree, functions=_FUNCTIONS)
        except CELParseError:
            raise SelectorError("it is not understood") from None
        except RecursionError:
            raise SelectorError("it is too deeply nested") from None
        except (SyntaxError, TypeError, ValueError):
            raise SelectorError("it is not understood") from None

    def run(self, traits: Traits, seen: Seen) -> Match:
        """Return whether the selector holds for a device, and note what it looked at; or SelectorError."""
        try:
            found = self._runner.evaluate({"device": _device(traits, seen)})
        except CELEvalError as error:
            if seen.missing:
                return Match.MISSING
            raise SelectorError(_short(error)) from None
        except RecursionError:
            raise SelectorError("it is too deeply nested") from None
        except Exception as error:  # noqa: BLE001 - the library lets others through; none may end a decision
            raise SelectorError(_short(error)) from None
        if not isinstance(found, celtypes.BoolType):
            raise SelectorError("it is neither true nor false")
        if not found:
            return Match.NO
        # The device may have traits that are not known: one that was not found may be there.
        return Match.MISSING if traits.partly and seen.missing else Match.YES


@cache
def _environment() -> celpy.Environment:
    # It raises the limit of recursion, which is the whole process's: what is nested deeper is refused here.
    limit = sys.getrecursionlimit()
    made = celpy.Environment()
    sys.setrecursionlimit(limit)
    return made


def _steps(tree: Any) -> int:  # noqa: ANN401 - a tree or a token of lark
    children: Sequence[Any] = getattr(tree, "children", ())
    below = sum(map(_steps, children))
    each = getattr(tree, "data", "") == "member_dot_arg" and str(children[1]) in _FOR_EACH
    return 1 + below * (_MOST_ELEMENTS if each else 1)


def _short(error: Exception) -> str:
    text = str(error.args[0] if error.args else error)
    return text.partition(" (in activation")[0].partition(" for Token(")[0][:200]


# --- what selectors see of a device


def _device(traits: Traits, seen: Seen) -> celtypes.MapType:
    seen.looked_at["driver", "", ""] = traits.driver
    attributes = {key: _value(value) for key, value in traits.attributes}
    capacity = {key: _Amount(value, seen) for key, value in traits.capacity}
    there = flat(traits)
    return celtypes.MapType(
        {
            celtypes.StringType("driver"): celtypes.StringType(traits.driver),
            celtypes.StringType("attributes"): _Domains("attributes", attributes, there, seen),
            celtypes.StringType("capacity"): _Domains("capacity", capacity, there, seen),
        }
    )


def _value(value: AttributeValue) -> Any:  # noqa: ANN401 - a value of CEL
    match value:
        case bool():
            return celtypes.BoolType(value)
        case int():
            return celtypes.IntType(value)
        case str():
            return celtypes.StringType(value)
        case Version():
            return value


class _Watched(celtypes.MapType):
    """A map that notes what is looked at."""

    def __init__(self, values: Mapping[Any, Any], seen: Seen) -> None:
        super().__init__(dict(values))
        self._seen = seen

    def _look(self, name: str, *, known: bool) -> None:
        """Note that `name` was looked for."""
        del name
        self._seen.missing = self._seen.missing or not known

    def __getitem__(self, name: Any) -> Any:  # noqa: ANN401 - as its base
        self._look(str(name), known=dict.__contains__(self, name))
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        known = dict.__contains__(self, name)
        self._look(str(name), known=known)
        return known

    def __iter__(self) -> Iterator[Any]:
        self._look_at_all()
        return super().__iter__()

    def __len__(self) -> int:
        self._look_at_all()
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self._look_at_all()
        return bool(super().__eq__(other))

    __hash__ = None  # type: ignore[assignment]

    def _look_at_all(self) -> None:
        self._seen.all_of_it = self._seen.missing = True


class _Names(_Watched):
    """The attributes or the capacity of a device in one domain."""

    def __init__(
        self, at: tuple[str, str], values: Mapping[Any, Any], there: Mapping[Any, object], seen: Seen
    ) -> None:
        super().__init__(values, seen)
        self._at, self._there = at, there

    def _look(self, name: str, *, known: bool) -> None:
        self._seen.looked_at[*self._at, name] = self._there.get((*self._at, name))
        super()._look(name, known=known)


class _Domains(_Watched):
    """The attributes or the capacity of a device, by domain. Every domain is there, if only empty."""

    def __init__(
        self, part: str, values: Mapping[tuple[str, str], Any], there: Mapping[Any, object], seen: Seen
    ) -> None:
        by_domain: dict[str, dict[Any, Any]] = {}
        for (domain, name), value in values.items():
            by_domain.setdefault(domain, {})[celtypes.StringType(name)] = value
        self._empty: Callable[[str], _Names] = lambda domain: _Names((part, domain), {}, there, seen)
        names = {
            celtypes.StringType(domain): _Names((part, domain), of, there, seen)
            for domain, of in by_domain.items()
        }
        super().__init__(names, seen)

    def __getitem__(self, domain: Any) -> Any:  # noqa: ANN401 - as its base
        # What is missing is noted where a name is looked for.
        names = dict.get(self, domain)
        return self._empty(str(domain)) if names is None else names

    def __contains__(self, domain: object) -> bool:
        self._look_at_all()
        return dict.__contains__(self, domain)


# --- quantities and versions


class _Amount:
    """A quantity. If only its bounds are known, it can be compared with quantities outside of them."""

    def __init__(self, span: Span, seen: Seen | None = None) -> None:
        self._span, self._seen = span, seen

    def unsure(self) -> None:
        """Note that the amount is not known well enough."""
        if self._seen is not None:
            self._seen.missing = True

    def compared(self, other: _Amount) -> int:
        """Return -1, 0 or 1; ValueError where that is not known."""
        low, high = self._span.low, self._span.high
        if low == high == other._span.low == other._span.high:
            return 0
        if high < other._span.low:
            return -1
        if low > other._span.high:
            return 1
        for one in (self, other):
            one.unsure()
        raise ValueError("the amount is not known exactly")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Amount):
            raise TypeError("a quantity compares with a quantity")
        return self.compared(other) == 0

    __hash__ = None  # type: ignore[assignment]


def _compared(one: object, other: object) -> int:
    match one, other:
        case _Amount(), _Amount():
            return one.compared(other)
        case Version(), Version():
            return (one.order > other.order) - (one.order < other.order)
        case _:
            raise TypeError("what is compared is of two types")


def _quantity(text: object) -> _Amount:
    amount = amount_of(CPU, str(text))
    return _Amount(Span(amount, amount))


def _semver(text: object) -> Version:
    version = version_of(str(text))
    if version is None:
        raise ValueError(f"{text!r} is no semantic version")
    return version


def _in(item: Any, container: Any) -> Any:  # noqa: ANN401 - values of CEL, or errors
    if isinstance(container, _Watched) and isinstance(item, str):
        return celtypes.BoolType(item in container)
    if isinstance(container, celtypes.ListType):
        for other in container:
            _check_pair(item, other)
        if all(isinstance(one, _NUMBERS) for one in (item, *container)):
            pairs = (_paired(item, other) for other in container)
            return celtypes.BoolType(any(one == other for one, other in pairs))
    return operator_in(item, container)


def _check_pair(one: object, other: object) -> None:
    """Refuse what is true or false beside what is not: to Python, and so to the library, true equals 1.

    And what is no finite number: to the library, 0.0 / 0.0 is infinite.
    """
    if isinstance(one, celtypes.BoolType) is not isinstance(other, celtypes.BoolType):
        raise TypeError("what is compared is of two types")
    if not all(isfinite(value) for value in (one, other) if isinstance(value, float)):
        raise ValueError("it is no finite number")


def _paired(one: Any, other: Any) -> tuple[Any, Any]:  # noqa: ANN401 - values of CEL, or errors
    """Return two values to be compared: numbers of two types as what both are, as cel-go compares them."""
    if not _of_two_types(one, other):
        return one, other
    plain = float if isinstance(one, float) or isinstance(other, float) else int
    return plain(one), plain(other)


def _of_two_types(one: object, other: object) -> bool:
    """Return whether two values are numbers, but not of one type."""
    return type(one) is not type(other) and isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS)


def _guarded(operator: str) -> Callable[[Any, Any], Any]:
    known: Callable[[Any, Any], Any] = base_functions[operator]

    def guarded(one: Any, other: Any) -> Any:  # noqa: ANN401 - values of CEL, or errors
        _check_pair(one, other)
        if operator in _COMPARISONS:
            one, other = _paired(one, other)
        elif _of_two_types(one, other):
            raise TypeError("numbers of two types are compared at most")
        return known(one, other)

    return guarded


_ALL: Final = celtypes.IntType(-1)
_NUMBERS: Final = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)
_COMPARISONS: Final = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_OPERATORS: Final = (*_COMPARISONS, "_+_", "_-_", "_*_", "_/_", "_%_")
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{operator: _guarded(operator) for operator in _OPERATORS},
    "_in_": _in,
    "quantity": _quantity,
    "semver": _semver,
    "split": lambda text, by, most=_ALL: _split(text, by, most),
    "compareTo": lambda one, other: celtypes.IntType(_compared(one, other)),
    "isGreaterThan": lambda one, other: celtypes.BoolType(_compared(one, other) > 0),
    "isLessThan": lambda one, other: celtypes.BoolType(_compared(one, other) < 0),
    "lowerAscii": lambda text: celtypes.StringType(_ascii(text).lower()),
    "upperAscii": lambda text: celtypes.StringType(_ascii(text).upper()),
}


def _split(text: object, by: object, most: object) -> celtypes.ListType:
    """Return the parts of a text between `by`, or its characters; `most` so many, all where that is negative.

    As Go's strings.SplitN. More parts than a map may have elements would take too long to go through.
    """
    if not (isinstance(text, str) and isinstance(by, str) and isinstance(most, celtypes.IntType)):
        raise TypeError("split takes texts, and how many parts")
    limit = len(text) + 1 if most < 0 else int(most)
    if limit == 0:
        parts: list[str] = []
    elif by:
        parts = text.split(by, limit - 1)
    else:
        parts = [*text[: limit - 1], *([rest] if (rest := text[limit - 1 :]) else [])]
    if len(parts) > _MOST_ELEMENTS:
        raise SelectorError(f"split makes more than {_MOST_ELEMENTS} parts")
    return celtypes.ListType(map(celtypes.StringType, parts))


def _ascii(text: object) -> str:
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("only ASCII has its case changed here")
    return text
