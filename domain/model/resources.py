"""Amounts of resources, as Kubernetes counts them."""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, TypeVar, overload

D = TypeVar("D")

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"

_SUFFIXES: Final[Mapping[str, Decimal]] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,4})|([numkMGTPE]|[KMGTPE]i)?)"
)
# Kubernetes caps a quantity at 2^63-1; a larger one is a typing error, not a machine.
_LARGEST: Final = Decimal(2**63 - 1)
_LONGEST: Final = 64
# Wide enough for the product of the longest number with any suffix: nothing is ever rounded on the way.
_EXACT: Final = Context(prec=2 * _LONGEST)


class TooLargeError(ValueError):
    """A quantity is beyond what Kubernetes can hold. Kubernetes itself reads it as the most it can hold."""


def parse_quantity(text: str | float) -> Decimal:
    """Read a Kubernetes quantity ("100m", "1.5Gi", "2e3", 4) exactly, in base units.

    Raises:
        TooLargeError: `text` is beyond what Kubernetes can hold.
        ValueError: `text` is no quantity.
    """
    written = str(text)
    match = _QUANTITY.fullmatch(written) if len(written) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{written[:_LONGEST]!r} is not a quantity (such as 500m, 2 or 1.5Gi)")
    number, exponent, suffix = match.groups()
    if exponent:
        value = Decimal(number + exponent)
    else:
        value = _EXACT.multiply(Decimal(number), _SUFFIXES[suffix or ""])
    if abs(value) > _LARGEST:
        raise TooLargeError(f"{written!r} is larger than any quantity Kubernetes can hold")
    return value


def amount_of(resource: str, text: str | float) -> int:
    """Return a quantity of `resource` in the unit `Resources` counts it in, rounded away from zero.

    Raises:
        ValueError: `text` is no quantity, or beyond what Kubernetes can hold.
    """
    return _amount(str(text), thousandths=resource == CPU)


# A cluster writes the same few quantities on thousands of pods.
@lru_cache(maxsize=4096)
def _amount(text: str, *, thousandths: bool) -> int:
    value = parse_quantity(text)
    if thousandths:
        value = _EXACT.multiply(value, Decimal(1000))
    return int(value.to_integral_value(rounding=ROUND_UP))


def format_amount(resource: str, amount: int) -> str:
    """Write an amount as the quantity a person would type ("1155m", "120Mi", "5")."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            unit = int(_SUFFIXES[suffix])
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


class Resources(Mapping[str, int]):
    """An immutable vector of amounts by resource name.

    CPU is counted in thousandths of a core, memory and storage in bytes, everything else in pieces.
    A resource that is not named counts as zero in arithmetic; whether it is named still matters to
    `minus` and to limits.
    """

    __slots__ = ("_amounts", "_hash")

    _amounts: dict[str, int]
    _hash: int | None

    def __init__(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._amounts = dict(amounts)
        self._hash = None

    @classmethod
    def _of(cls, amounts: dict[str, int]) -> Resources:
        """Make a vector of `amounts` without a copy: the caller lets go of them."""
        made = cls.__new__(cls)
        made._amounts = amounts  # noqa: SLF001
        made._hash = None  # noqa: SLF001
        return made

    @classmethod
    def parse(cls, quantities: Mapping[str, str | float]) -> Resources:
        """Read quantities such as {"cpu": "500m", "memory": "1Gi"}.

        Raises:
            ValueError: one of them is no quantity; the message names the resource.
        """
        amounts: dict[str, int] = {}
        for name, text in quantities.items():
            try:
                amounts[name] = amount_of(name, text)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return cls._of(amounts)

    def format(self) -> dict[str, str]:
        """Write every amount as a quantity, by resource name in sorted order."""
        return {name: format_amount(name, amount) for name, amount in sorted(self._amounts.items())}

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    # Mapping offers all of these; the dictionary's own are five times as fast.
    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def keys(self) -> KeysView[str]:
        return self._amounts.keys()

    def values(self) -> ValuesView[int]:
        return self._amounts.values()

    def items(self) -> ItemsView[str, int]:
        return self._amounts.items()

    @overload
    def get(self, name: str, /) -> int | None: ...
    @overload
    def get(self, name: str, /, default: int | D) -> int | D: ...
    def get(self, name: str, /, default: object = None) -> object:
        return self._amounts.get(name, default)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Resources):
            return self._amounts == other._amounts
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._amounts.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Resources({self.format()})"

    def __reduce__(self) -> tuple[type[Resources], tuple[dict[str, int]]]:
        return Resources, (self._amounts,)

    def plus(self, other: Mapping[str, int]) -> Resources:
        """Return the sum over the resources of both."""
        if not other:
            return self
        amounts = self._amounts.copy()
        for name, amount in other.items():
            amounts[name] = amounts.get(name, 0) + amount
        return Resources._of(amounts)

    def minus(self, other: Mapping[str, int]) -> Resources:
        """Return what is left of the resources named here; those only `other` names are dropped."""
        return Resources._of({name: amount - other.get(name, 0) for name, amount in self._amounts.items()})

    def at_least_zero(self) -> Resources:
        """Return this vector with every negative amount raised to zero."""
        return Resources._of({name: max(amount, 0) for name, amount in self._amounts.items()})

    def largest(self, other: Mapping[str, int]) -> Resources:
        """Return the larger amount of each resource, over the resources of both."""
        amounts = self._amounts.copy()
        for name, amount in other.items():
            amounts[name] = max(amounts.get(name, 0), amount)
        return Resources._of(amounts)

    def fits(self, room: Mapping[str, int]) -> bool:
        """Return whether `room` holds this request.

        As in Karpenter: room that is overdrawn in any resource holds nothing, and a resource the
        room does not name holds only a request of zero.
        """
        if min(room.values(), default=0) < 0:
            return False
        for name, amount in self._amounts.items():  # noqa: SIM110 (a generator takes twice as long)
            if amount > room.get(name, 0):
                return False
        return True

    def shortages(self, room: Mapping[str, int]) -> tuple[str, ...]:
        """Return the resources that `room` has too little of for this request, in sorted order."""
        return tuple(sorted(name for name, amount in self._amounts.items() if amount > room.get(name, 0)))


NOTHING: Final = Resources()


def total(parts: Iterable[Mapping[str, int]]) -> Resources:
    """Return the sum of all `parts`."""
    amounts: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            amounts[name] = amounts.get(name, 0) + amount
    return Resources(amounts)
