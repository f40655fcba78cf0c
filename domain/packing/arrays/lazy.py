"""Lazy attributes: what an object derives from itself when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class Lazy(Generic[T]):
    """A property computed once, like functools.cached_property, but without its lock.

    Packing is of one thread, and asks for these so often that the lock would take longer than they do.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> Self: ...
    @overload
    def __get__(self, one: object, owner: type) -> T: ...
    def __get__(self, one: object | None, owner: type) -> Self | T:
        """Compute it; from then on it is found in the object's dictionary, and this is not asked again."""
        if one is None:
            return self
        found = one.__dict__[self._name] = self._compute(one)
        return found
