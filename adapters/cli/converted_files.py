"""Manifest files in another version. Documents that are not converted stay as written; comments stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from treenail.adapters.api.conversion import ConversionError
from treenail.adapters.api.conversion.documents import Made, in_version, is_meant_for_us, is_ours
from treenail.adapters.api.conversion.moves import moved
from treenail.adapters.api.conversion.old_kinds import PROVISIONER
from treenail.adapters.api.documents import Manifest, parse_manifests, read_text
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.manifests import decode
from treenail.adapters.api.written.yaml_text import Written, yaml_text
from treenail.adapters.api.yaml_comments import Comment, comments_of, composed, nodes_of, with_comments
from treenail.domain.model import labels

_MARKER: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_SEPARATOR: Final = "---\n"


@dataclass(frozen=True, slots=True)
class Document:
    """A stretch of a file, less the marker it begins with, and the objects that it holds."""

    text: str
    manifests: tuple[Manifest, ...]

    @property
    def trees(self) -> tuple[dict[str, Any], ...]:
        """The objects, as plain values."""
        return tuple(_plain(one.content) for one in self.manifests)

    @property
    def is_yaml_of_one(self) -> bool:
        """True if it says how its object is written: JSON does not, and lists are taken apart."""
        return len(self.manifests) == 1 and not isinstance(self.manifests[0].content, bytes)

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments between its lines; of JSON there are none."""
        is_json = any(isinstance(one.content, bytes) for one in self.manifests)
        return () if is_json else comments_of(self.text)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it is written."""

    name: str
    text: str
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file, what it is in the other version, and all its objects."""

    source: SourceFile
    text: str
    trees: tuple[dict[str, Any], ...]


def source_file(path: Path | str) -> SourceFile:
    """Read a file; "-" is standard input.

    Raises:
        ManifestError: it cannot be read, or holds something that is no manifest.
    """
    name, data = read_text(path)
    return source_of(name, data)


def source_of(name: str, data: bytes) -> SourceFile:
    """Return the parts of `data`; see `source_file`."""
    manifests = parse_manifests(data, name)
    text = data.decode("utf-8-sig")
    if text.startswith("%"):
        raise ManifestError(name, "", "", "begins with a directive (%), which cannot be kept: leave it out")
    stretches = [one for one in _MARKER.split(text) if one.strip()]
    if len(stretches) == 1:
        return SourceFile(name, text, (Document(text, manifests),))
    documents, taken = [], 0
    for stretch in stretches:
        count = _objects_in(stretch, name)
        documents.append(Document(stretch, manifests[taken : taken + count]))
        taken += count
    return SourceFile(name, text, tuple(documents))


def _objects_in(text: str, name: str) -> int:
    return 0 if composed(text) is None else len(parse_manifests(text.encode(), name))


def converted_files(files: Sequence[SourceFile], to: str) -> tuple[list[ConvertedFile], list[str]]:
    """Return the files in the version `to`, and the warnings, a line each.

    Raises:
        ManifestError: an object is wrong by the rules of its own version, or cannot be said in the other.
    """
    manifests = [one for file in files for document in file.documents for one in document.manifests]
    trees = [_plain(one.content) for one in manifests]
    for manifest, tree in zip(manifests, trees, strict=True):
        _refuse_what_is_wrong(manifest, tree)
    try:
        made = in_version(trees, to)
    except ConversionError as error:
        file = manifests[error.source].file if error.source is not None else ""
        raise ManifestError(file, error.object, error.field, error.problem) from None
    _check(made, manifests)
    warnings = [
        f"{manifests[n].file}: {one.tree['kind']} {one.name}: {warning}"
        for n, several in made.items()
        for one in several
        for warning in one.warnings
    ]
    return _files(files, made), [*warnings, *_selecting_by_old_label(manifests, trees, made)]


def _refuse_what_is_wrong(manifest: Manifest, tree: Mapping[str, Any]) -> None:
    """Raise ManifestError for one of ours that is wrong, and for what may hold some, or be meant to be one.

    Machines are none that anything becomes of: they stay as they are.
    """
    known = (manifest.api_version, manifest.kind) in KINDS
    if is_ours(tree) or (is_meant_for_us(tree) and not known) or manifest.kind in ("", "List"):
        decode(manifest)


def _selecting_by_old_label(
    manifests: Sequence[Manifest], trees: Sequence[Mapping[str, Any]], made: Mapping[int, Sequence[Made]]
) -> Iterator[str]:
    """Yield a warning for what stays as it is and names a label that the nodes will have no more."""
    if not any(trees[n].get("kind") == PROVISIONER for n in made):
        return
    for n, (manifest, tree) in enumerate(zip(manifests, trees, strict=True)):
        if n not in made and f'"{labels.PROVISIONER}"' in json.dumps(tree, default=str):
            called = f"{manifest.file}: {manifest.kind} {manifest.name}"
            yield f"{called}: names {labels.PROVISIONER}, in whose place new nodes have {labels.NODEPOOL}"


def _check(made: Mapping[int, Sequence[Made]], manifests: Sequence[Manifest]) -> None:
    """Raise ManifestError where something would be made that its own version refuses."""
    for n, several in made.items():
        for one in several:
            text = json.dumps(one.tree).encode()
            for manifest in parse_manifests(text, manifests[n].file):
                decode(manifest)


def _files(files: Sequence[SourceFile], made: Mapping[int, Sequence[Made]]) -> list[ConvertedFile]:
    sources: dict[int, Document] = {}
    places: dict[int, list[int]] = {}
    n = 0
    for file in files:
        for document in file.documents:
            places[id(document)] = list(range(n, n + len(document.manifests)))
            sources |= dict.fromkeys(places[id(document)], document)
            n += len(document.manifests)
    writer = _Writer(made, sources)
    result = []
    for file in files:
        texts: list[str] = []
        trees: list[dict[str, Any]] = []
        for document in file.documents:
            own = places[id(document)]
            if any(place in made for place in own):
                texts += writer.texts(document, own)
            else:
                texts.append(document.text.lstrip("\n"))
            trees += [one for place in own for one in writer.trees(document, own, place)]
        result.append(ConvertedFile(file, _SEPARATOR.join(_ended(one) for one in texts), tuple(trees)))
    return result


@dataclass(slots=True)
class _Writer:
    """Writes what is made of documents, with what they say of how it is written."""

    made: Mapping[int, Sequence[Made]]
    sources: Mapping[int, Document]

    def trees(self, document: Document, own: Sequence[int], place: int) -> Iterator[dict[str, Any]]:
        if place in self.made:
            yield from (one.tree for one in self.made[place])
        else:
            yield document.trees[place - own[0]]

    def texts(self, document: Document, own: Sequence[int]) -> Iterator[str]:
        for place in own:
            if place not in self.made:
                yield yaml_text(document.trees[place - own[0]], {})
                continue
            for one in self.made[place]:
                yield self._text(one)

    def _text(self, one: Made) -> str:
        before: dict[tuple[str | int, ...], Written] = {}
        comments: list[Comment] = []
        for origin in one.origins:
            document = self.sources[origin.source]
            if not document.is_yaml_of_one:
                continue
            (tree,) = document.trees
            for path, node in nodes_of(document.text).items():
                there = moved(path, origin.steps)
                if there is not None and path:
                    before.setdefault(there, Written(node, _value(tree, path)))
        for source in dict.fromkeys(origin.source for origin in one.origins):
            document = self.sources[source]
            if document.is_yaml_of_one:
                comments += self._comments(one, source, document)
            elif self._is_first(one, document):
                comments += (Comment((), of_list.text, beside=False) for of_list in document.comments)
        text = yaml_text(one.tree, before)
        made = with_comments(text, comments)
        if yaml.load(made, Loader=yaml.SafeLoader) == yaml.load(text, Loader=yaml.SafeLoader):
            return made
        return "".join(f"{comment.text}\n" for comment in comments) + text

    def _comments(self, one: Made, source: int, document: Document) -> Iterator[Comment]:
        """Yield the comments of `document` that go to `one`: every comment goes to one object exactly."""
        for comment in document.comments:
            place = self._place(source, comment.path)
            if place is not None and place[0] is one:
                yield Comment(place[1], comment.text, beside=comment.beside)

    def _is_first(self, one: Made, document: Document) -> bool:
        """Return whether `one` is the first that is made of a list: it gets the comments of all."""
        own = [made for n, made in sorted(self.made.items()) if self.sources[n] is document]
        return bool(own) and own[0][0] is one

    def _place(
        self, source: int, path: tuple[str | int, ...] | None
    ) -> tuple[Made, tuple[str | int, ...] | None] | None:
        own = self.made.get(source, ())
        if path is None:
            return (own[-1], None) if own else None
        for one in (*own, *(o for several in self.made.values() for o in several if o not in own)):
            for origin in one.origins:
                there = moved(path, origin.steps) if origin.source == source else None
                if there is not None:
                    return one, there
        return (own[0], path[:1]) if own else None


def _value(tree: Any, path: tuple[str | int, ...]) -> object:  # noqa: ANN401 - any JSON value
    for step in path:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def _plain(content: bytes | Mapping[str, object]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(content) if isinstance(content, bytes) else dict(content)
    return found


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
