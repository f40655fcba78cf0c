"""Plain values as YAML. A value read from a text keeps the style it had there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]

_MAP: Final = "tag:yaml.org,2002:map"
_SEQUENCE: Final = "tag:yaml.org,2002:seq"
_STRING: Final = "tag:yaml.org,2002:str"
_NO_FOLDING: Final = 1_000_000
_LONGEST_LINE: Final = 100


@dataclass(frozen=True, slots=True)
class Written:
    """The former text of a value, and the value it meant."""

    node: yaml.Node
    value: object


class _Dumper(yaml.SafeDumper):
    """Writes lists under their key as far in as the text did that things come from."""

    indented = False

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        super().increase_indent(flow, indentless and not self.indented)


class _IndentingDumper(_Dumper):
    indented = True


def yaml_text(tree: Mapping[str, Any], before: Mapping[Path, Written]) -> str:
    """Return `tree` as a YAML document. What `before` says of a path is kept: quotes, braces, block text."""
    node = _node(dict(tree), (), before)
    dumper = _IndentingDumper if any(_is_indented(one.node) for one in before.values()) else _Dumper
    text: str = yaml.serialize(node, Dumper=dumper, width=_NO_FOLDING, allow_unicode=True)
    return text


def _node(value: object, path: Path, before: Mapping[Path, Written]) -> yaml.Node:
    old = before.get(path)
    if old is not None and _same(old.value, value):
        return old.node
    like = old or (before.get((*path[:-1], 0)) if path and isinstance(path[-1], int) else None)
    flow = isinstance(like.node, yaml.CollectionNode) and bool(like.node.flow_style) if like else False
    flow = flow and len(json.dumps(value, default=str)) <= _LONGEST_LINE
    match value:
        case dict():
            pairs = [(_key(key), _node(one, (*path, key), before)) for key, one in value.items()]
            return yaml.MappingNode(_MAP, pairs, flow_style=flow or not pairs)
        case list():
            items = [_node(one, (*path, n), before) for n, one in enumerate(value)]
            return yaml.SequenceNode(_SEQUENCE, items, flow_style=flow or not items)
        case _:
            made: yaml.Node = yaml.representer.SafeRepresenter().represent_data(value)
            if isinstance(made, yaml.ScalarNode) and "\n" in made.value:
                made.style = "|"
            return made


def _key(key: object) -> yaml.Node:
    return yaml.ScalarNode(_STRING, str(key))


def _same(one: object, other: object) -> bool:
    """Compare as JSON does, where true is not 1."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _is_indented(node: yaml.Node) -> bool:
    """Return whether `node` holds a list in block style that is indented more than its key."""
    if not isinstance(node, yaml.MappingNode):
        return False
    return any(
        isinstance(value, yaml.SequenceNode)
        and not value.flow_style
        and value.start_mark is not None
        and value.start_mark.column > key.start_mark.column
        for key, value in node.value
    )
