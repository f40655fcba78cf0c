"""YAML as Kubernetes reads it: plain values, text for keys, no times, no key twice."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Hashable, Sequence
from typing import Any, Final

import yaml

_MOST_NODES: Final = 5_000_000
_DEEPEST: Final = 100
_INT: Final = "tag:yaml.org,2002:int"
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_MERGE: Final = "tag:yaml.org,2002:merge"
_TEMPLATE: Final = re.compile(r"^\s*(?:- +)?(?:[\w./-]+: +)?(\{\{.*?\}\}|\{\{.{0,40})")

_WITHIN: Final = re.compile(r"\{\{.+?\}\}")
_LINE: Final = re.compile(r"line (\d+): ")


class NotYamlError(Exception):
    """Text that is no YAML we take, in one line that says where."""


class _Loader(yaml.CSafeLoader):
    """Builds plain values; keys are text as it is written, and none may be there twice."""

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: ARG002, FBT001, FBT002 - as the library calls it
    ) -> dict[Hashable, Any]:
        self._check_keys(node)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    @staticmethod
    def _check_keys(node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise NotYamlError(f"line {_line(key)}: a key must be text")
            if key.value in seen:
                raise NotYamlError(f"line {_line(key)}: the key {key.value} is there twice")
            if key.tag != _MERGE:
                seen.add(key.value)


def _kubernetes_scalars() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Return the resolvers less times, and less integers to the base of sixty such as 80:80."""
    integer = re.compile(r"^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$")
    return {
        first: [(tag, integer if tag == _INT else pattern) for tag, pattern in rules if tag != _TIMESTAMP]
        for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.yaml_implicit_resolvers = _kubernetes_scalars()


def parse(data: bytes) -> list[object]:
    """Return the documents of `data` that are not empty.

    Raises:
        NotYamlError: it is not YAML, or stands for absurdly much.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if _is_utf16(data):
            raise NotYamlError("is UTF-16 text: save it as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise NotYamlError(f"line {line}: is not UTF-8 text") from None
    try:
        return _read(text)
    except NotYamlError as error:
        raise NotYamlError(_cause(text) or _template_at(text, str(error)) or str(error)) from None


def _is_utf16(data: bytes) -> bool:
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    try:
        data.decode("utf-16")
    except UnicodeDecodeError:
        return False
    return True


def _cause(text: str) -> str:
    """Return what often makes a text no YAML, which the parser only stumbles over; "" for anything else."""
    for number, line in enumerate(text.splitlines(), start=1):
        template = _TEMPLATE.search(line)
        if template is not None:
            return _is_template(number, template[1])
    for number, line in enumerate(text.splitlines(), start=1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return f"line {number}: is indented by a tab: YAML takes spaces alone"
    if text.lstrip().startswith(("{", "[")):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return f"line {error.lineno}, column {error.colno}: is not JSON: {error.msg}"
        except RecursionError:
            return ""
    return ""


def _template_at(text: str, error: str) -> str:
    """Return that a template stands in the line that an error names, anywhere in it; "" where none does."""
    named = _LINE.match(error)
    if named is None:
        return ""
    number = int(named[1])
    template = _WITHIN.search("".join(text.splitlines()[number - 1 : number]))
    return "" if template is None else _is_template(number, template[0])


def _is_template(number: int, template: str) -> str:
    return f"line {number}: {template} is a template: give what `helm template` or the like makes of it"


def _read(text: str) -> list[object]:
    try:
        _check_depth(text)
        return _documents(_Loader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise NotYamlError(f"{where}is not YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise NotYamlError(f"line {line}: is not YAML: {error.reason}") from None
    except ValueError as error:
        raise NotYamlError(f"is not YAML: {error}") from None


def _check_depth(text: str) -> None:
    """Refuse deep nesting before nodes are made of it: the library recurses until the process dies."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise NotYamlError(f"line {_line(event)}: is nested too deep")


def _documents(loader: _Loader) -> list[object]:
    documents = []
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                _check_size(node)
                documents.append(loader.construct_document(node))
    finally:
        loader.dispose()
    return [document for document in documents if document is not None]


def _check_size(node: yaml.Node) -> None:
    """Refuse what a few aliases blow up to more than memory can hold, or that holds itself."""
    if _size(node, {}) > _MOST_NODES:
        raise NotYamlError(f"line {_line(node)}: stands for more than {_MOST_NODES} values")


def _size(node: yaml.Node, known: dict[int, int | None]) -> int:
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in known:
        size = known[id(node)]
        if size is None:
            raise NotYamlError(f"line {_line(node)}: an alias stands within what it stands for")
        return size
    known[id(node)] = None
    size = 1 + sum(_size(child, known) for child in _children(node))
    known[id(node)] = size
    return size


def _children(node: yaml.Node) -> Sequence[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [value for _, value in node.value]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _line(of: yaml.Node | yaml.Event) -> int:
    return of.start_mark.line + 1 if of.start_mark else 1
