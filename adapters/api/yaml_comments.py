"""Comments of YAML: read by the field they stand at, and written at that field again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]

_COMMENT: Final = re.compile(r"#[^\n]*")
_BLOCK_STYLES: Final = ("|", ">")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment about the field at `path`, "#" and all: `beside` it on its line, or above it.

    Without a path it stands at the end of the document.
    """

    path: Path | None
    text: str
    beside: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a field or an item in a text: its beginning, and the node of its value."""

    path: Path
    index: int
    line: int
    value: yaml.Node


def comments_of(text: str) -> tuple[Comment, ...]:
    """Return the comments of a text of one YAML document, in their order."""
    places = sorted(_places(composed(text)), key=lambda place: place.index)
    return tuple(_attributed(index, comment, text, places) for index, comment in _found(text))


def composed(text: str) -> yaml.Node | None:
    """Return the nodes of a text of one YAML document, None where it holds only comments."""
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def nodes_of(text: str) -> Mapping[Path, yaml.Node]:
    """Return the nodes of a text of one YAML document by their path."""
    return {place.path: place.value for place in _places(composed(text))}


def with_comments(text: str, comments: Iterable[Comment]) -> str:
    """Return `text`, of one YAML document, with `comments`; one on no path of it goes to where that is."""
    places = {place.path: place for place in _places(composed(text))}
    lines = text.removesuffix("\n").split("\n")
    above: dict[int, list[str]] = {}
    for one in comments:
        if one.path is None:
            above.setdefault(len(lines), []).append(one.text)
            continue
        place = places[_there(one.path, places)]
        line = _line_beside(place) if one.beside else None
        if line is None:
            above.setdefault(place.line, []).append(one.text)
        else:
            lines[line] += f"  {one.text}"
    for n in sorted(above, reverse=True):
        indent = _indent(lines[n]) if n < len(lines) else ""
        lines[n:n] = [indent + one for one in above[n]]
    return "\n".join(lines) + "\n"


def _places(node: yaml.Node | None) -> Iterator[_Place]:
    """Yield every field and item below `node`, once: what an alias stands for is where its anchor is."""
    if node is None:
        return
    yield _Place((), node.start_mark.index, node.start_mark.line, node)
    seen: set[int] = set()
    waiting: list[tuple[Path, yaml.Node]] = [((), node)]
    while waiting:
        path, at = waiting.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        for step, begins, value in _children(at):
            yield _Place((*path, step), begins.start_mark.index, begins.start_mark.line, value)
            waiting.append(((*path, step), value))


def _children(node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key, value
    elif isinstance(node, yaml.SequenceNode):
        for n, item in enumerate(node.value):
            yield n, item, item


def _found(text: str) -> Iterator[tuple[int, str]]:
    """Yield each comment with where it begins: between the tokens there is nothing else but blanks."""
    done = 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        begins, ends = token.start_mark.index, token.end_mark.index
        yield from _within(text, done, begins)
        if isinstance(token, yaml.ScalarToken) and token.style in _BLOCK_STYLES:
            header = text.find("\n", begins)
            yield from _within(text, begins, ends if header < 0 else header)
        done = max(done, ends)
    yield from _within(text, done, len(text))


def _within(text: str, begins: int, ends: int) -> Iterator[tuple[int, str]]:
    for found in _COMMENT.finditer(text, begins, ends):
        yield found.start(), found.group().rstrip()


def _attributed(index: int, comment: str, text: str, places: Sequence[_Place]) -> Comment:
    before = text[text.rfind("\n", 0, index) + 1 : index]
    if before.strip() and before.strip() != "---":
        own = [place.path for place in places if place.index < index and place.path]
        return Comment(own[-1] if own else (), comment, beside=bool(own))
    below = next((place.path for place in places if place.index > index and place.path), None)
    return Comment(below, comment, beside=False)


def _there(path: Path, places: Mapping[Path, Any]) -> Path:
    while path not in places:
        path = path[:-1]
    return path


def _line_beside(place: _Place) -> int | None:
    """Return the line that a comment beside the field goes onto, None where it has none to itself."""
    node = place.value
    if not place.path:
        return None
    if isinstance(node, yaml.CollectionNode):
        return place.line
    scalar = isinstance(node, yaml.ScalarNode) and node.style in _BLOCK_STYLES
    return node.start_mark.line if scalar or node.start_mark.line == node.end_mark.line else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
