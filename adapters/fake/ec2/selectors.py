"""Selection of EC2's subnets, groups and images by the terms of a node class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.status.node_class_parts import nothing_found


class Tagged(Protocol):
    """A thing selectors are about.

    Where `tags` is None it has whatever tags it is asked for, and where `name` is "" as well whatever name.
    """

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def tags(self) -> Mapping[str, str] | None: ...


T = TypeVar("T", bound=Tagged)


def means(term: SelectorTerm, thing: Tagged) -> bool:
    """Return whether `thing` is one that a term by id, or by name and tags, is about."""
    if term.id:
        return term.id == thing.id
    if not (term.name or term.tags):
        return False
    any_name = thing.tags is None and not thing.name
    if term.name and not any_name and not fits(thing.name, term.name):
        return False
    tags = thing.tags
    return tags is None or all(key in tags and fits(tags[key], value) for key, value in term.tags)


def fits(text: str, pattern: str) -> bool:
    """Return whether a name or tag fits what filters of EC2 say: "*" is any text, "?" any character."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def select(
    what: str, node_class: NodeClass, terms: Sequence[SelectorTerm], things: Iterable[T]
) -> tuple[T, ...]:
    """Return the things that any of the terms is about.

    Raises:
        NodeClassNotReadyError: there are none.
    """
    found = tuple(thing for thing in things if any(means(term, thing) for term in terms))
    if not found:
        raise nothing_found(what, node_class, terms)
    return found
