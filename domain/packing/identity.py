"""Identity maps: what is known of an object, found by the object itself and not by what it equals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, ValuesView
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityMap(Generic[K, V]):
    """Values by object, each made by `make` when its object is first asked for. In the order of asking.

    A value is never None.

    Identity and not equality, for one of two reasons. Arrays have no hash, and are compared number by number.
    Specs, rules and residents have one, but it is computed anew for each look-up, and packing looks them up
    far more often than there are different ones. Where equal objects are interned, which is for whoever makes
    them to say, identity finds the same; where they are not, a value is made twice, and nothing else.

    The map keeps its keys alive, so that no other object can take over the identity of one that is gone.
    """

    __slots__ = ("_keys", "_make", "_values")

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._keys: list[K] = []
        self._values: dict[int, V] = {}

    def __getitem__(self, key: K) -> V:
        # No `try`: where each pod has a spec of its own, every look-up is a miss, and an exception costs more
        # than all the rest.
        number = id(key)
        value = self._values.get(number)
        if value is None:
            value = self._values[number] = self._make(key)
            self._keys.append(key)
        return value

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def values(self) -> ValuesView[V]:
        return self._values.values()

    def items(self) -> Iterable[tuple[K, V]]:
        return zip(self._keys, self._values.values(), strict=True)


def grouping() -> IdentityMap[K, list[V]]:
    """Return a map that gathers a list for each object."""
    return IdentityMap(lambda _: [])


def numbering() -> IdentityMap[object, int]:
    """Return a map that numbers objects: for keys made of several objects, or of one and other values."""
    numbers = count()
    return IdentityMap(lambda _: next(numbers))


def gather(some: Iterable[V], key: Callable[[V], K], into: dict[K, list[V]]) -> None:
    """Append each of `some` to the list that `into` has for its key. Each key object is hashed once.

    `some` must keep their keys meanwhile.
    """
    # Written out, for it is done for each pod of a problem: an `IdentityMap` would take twice as long.
    lists: dict[int, list[V]] = {}
    for one in some:
        of = key(one)
        members = lists.get(id(of))
        if members is None:
            members = lists[id(of)] = into.setdefault(of, [])
        members.append(one)


def distinct(some: Iterable[K]) -> Iterable[K]:
    """Return each object of `some` once, in the order of the first."""
    seen: IdentityMap[K, K] = IdentityMap(lambda one: one)
    for one in some:
        seen[one]
    return seen.values()


class Same(Generic[K]):
    """An object as a key of a cache that forgets: equal to another where both are of the very same object."""

    def __init__(self, one: K) -> None:
        self.one = one

    def __hash__(self) -> int:
        # Kept by this object, and this object by the cache: its identity stays its own.
        return id(self.one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.one is other.one
