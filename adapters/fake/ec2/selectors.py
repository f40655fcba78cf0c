"""Selection of EC2's subnets, groups and images by the terms of a node class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm


class Tagged(Protocol):
    """A thing selectors are about. Where `tags` is None it bears whatever name and tags it is asked for."""

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


def nothing_found(what: str, node_class: NodeClass, terms: Sequence[SelectorTerm]) -> NodeClassNotReadyError:
    """Return the error that says which selector of a node class finds nothing."""
    asked = "; ".join(_spoken(term) for term in terms) or "it has no terms"
    problem = f"{node_class.ref}: its selector of {what} finds nothing ({asked})"
    return NodeClassNotReadyError(problem, selector=what)


def _spoken(term: SelectorTerm) -> str:
    fields = (
        ("id", term.id),
        ("name", term.name),
        ("alias", term.alias),
        ("ssmParameter", term.ssm_parameter),
        *((f"tag {key}", value) for key, value in term.tags),
        ("owner", term.owner),
    )
    return ", ".join(f"{name} {value}" for name, value in fields if value) or "an empty term"
