"""Selection of EC2's subnets, groups and images by the terms of a node class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.status.node_class_parts import nothing_found


class Tagged(Protocol):
    """A thing selectors are about. Where `tags` is None it has whatever name and tags it is asked for."""

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
    if thing.tags is None:
        return True
    tags = thing.tags
    return term.name in ("", thing.name) and all(
        key in tags and value in ("*", tags[key]) for key, value in term.tags
    )


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
