"""A full list read beside a running watch, and the merge of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Versioned(Protocol):
    """An object at one resource version."""

    @property
    def uid(self) -> str: ...

    @property
    def version(self) -> int: ...


E = TypeVar("E", bound=Versioned)


@dataclass(slots=True, eq=False)
class Listing(Generic[E]):
    """The part of a list that was read so far.

    `since` is the revision that was known when the list was asked for, `there` are the uids of its objects,
    `changed` those objects whose version was not known, and `gone` the uids of objects that a watch said were
    deleted meanwhile.
    """

    since: int
    there: set[str] = field(default_factory=set)
    changed: list[E] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def add(self, entry: E) -> None:
        """Note an object that the list holds."""
        self.there.add(entry.uid)
        self.changed.append(entry)

    def is_put_back(self, revision: int) -> bool:
        """Return whether the list is older than what was known before: the store was put back."""
        return revision < self.since

    def lost(self, known: Mapping[str, Versioned], revision: int) -> list[str]:
        """Return the uids of what is `known` and, as the list of `revision` was read, is not there any more.

        What a watch told that is newer than the list stays; where the store was put back, the list is right.
        """
        put_back = self.is_put_back(revision)
        return [
            uid
            for uid, entry in known.items()
            if uid not in self.there and (put_back or entry.version <= revision)
        ]

    def found(self) -> list[E]:
        """Return the objects of the list that are to be taken in where they are newer than what is known."""
        return [entry for entry in self.changed if entry.uid not in self.gone]
