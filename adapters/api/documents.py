"""Manifests from files: several YAML documents or JSON, lists taken apart into their objects."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import ManifestError, first_of
from treenail.adapters.api.yaml_documents import NotYamlError, parse

STDIN: Final = "-"
_DEEPEST_LIST: Final = 10
_SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One object as it was written. `number` counts the objects of its file from 1.

    `content` is its JSON text, or the mapping its YAML stands for. What it does not say is "".
    """

    file: str
    number: int
    api_version: str
    kind: str
    name: str
    namespace: str
    content: bytes | Mapping[str, object]


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Header(msgspec.Struct, rename="camel"):
    """Version, kind and name of a document, and the objects of a list as they are written."""

    api_version: str = ""
    kind: str = ""
    metadata: _Named = msgspec.field(default_factory=_Named)
    items: list[msgspec.Raw] | None = None


_HEADER: Final = msgspec.json.Decoder(_Header)
_RAW: Final = msgspec.json.Decoder(msgspec.Raw)


def read_manifests(paths: Sequence[Path | str]) -> tuple[Manifest, ...]:
    """Read the objects of all files, in order; "-" is standard input, and a folder stands for its files.

    Raises:
        ManifestError: a file cannot be read, is neither YAML nor JSON, or holds no object; its `others` are
            of other files.
    """
    found: list[Manifest] = []
    errors: list[ManifestError] = []
    for path in paths:
        try:
            found += (manifest for file in files_in(path) for manifest in _of_file(file))
        except ManifestError as error:
            errors.append(error)
    if errors:
        raise first_of(errors)
    return tuple(found)


def files_in(path: Path | str) -> tuple[Path | str, ...]:
    """Return the manifests in a folder, by name, less those in folders below; another path is itself."""
    if not str(path):
        raise ManifestError("", "", "", "a file without a name cannot be read: is a variable empty?")
    if str(path) == STDIN or not _is_folder(path):
        return (path,)
    found = tuple(sorted(p for p in Path(path).iterdir() if p.suffix in _SUFFIXES and p.is_file()))
    if not found:
        raise ManifestError(str(path), "", "", f"is a folder without a file {' or '.join(_SUFFIXES)}")
    return found


def _is_folder(path: Path | str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        # A name that no file can have: reading it says why.
        return False


def _of_file(path: Path | str) -> tuple[Manifest, ...]:
    file, data = read_text(path)
    return parse_manifests(data, file)


def read_text(path: Path | str) -> tuple[str, bytes]:
    """Return the name of a file in messages, and its content; "-" is standard input.

    Raises:
        ManifestError: it cannot be read.
    """
    file = "stdin" if str(path) == STDIN else str(path)
    return file, _data(path, file)


def _data(path: Path | str, file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == STDIN else Path(path).read_bytes()
    except FileNotFoundError:
        problem = "there is no such file"
    except IsADirectoryError:
        problem = "is a folder, not a file"
    except PermissionError:
        problem = "cannot be read: permission denied"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except ValueError as error:
        problem = f"is no path: {error}"
    raise ManifestError(file, "", "", problem)


def parse_manifests(data: bytes, file: str) -> tuple[Manifest, ...]:
    """Read the objects of `data`, the content of `file`; see `read_manifests`."""
    if not data.strip():
        raise ManifestError(file, "", "", "is empty")
    try:
        contents = _json(data) or parse(data)
        objects = [one for content in contents for one in _taken_apart(content, file, 0)]
        found = tuple(_manifest(content, file, n) for n, content in enumerate(objects, start=1))
    except NotYamlError as error:
        raise ManifestError(file, "", "", str(error)) from None
    except RecursionError:
        raise ManifestError(file, "", "", "is nested too deep") from None
    if not contents:
        raise ManifestError(file, "", "", "holds no object, only comments")
    return found


def _json(data: bytes) -> list[bytes | object]:
    """Return the one JSON value of `data`, nothing where it is none: it may still be YAML."""
    if not data.lstrip().startswith((b"{", b"[")):
        return []
    try:
        data.decode()
        return [bytes(_RAW.decode(data))]
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return []


def _taken_apart(content: object, file: str, depth: int) -> Iterator[bytes | Mapping[str, object]]:
    """Yield `content`, or the objects of the list that it is."""
    items: Iterable[object] | None = None
    if isinstance(content, bytes) and content.startswith(b"{"):
        header = _header_of_json(content)
        if header is not None and header.kind == "List":
            items = [bytes(item) for item in header.items or ()]
    elif isinstance(content, Mapping):
        if content.get("kind") == "List":
            listed = content.get("items")
            items = listed if isinstance(listed, list) else () if listed is None else None
    else:
        found = msgspec.json.decode(content) if isinstance(content, bytes) else content
        problem = f"an object with apiVersion and kind is expected, not {quoted(found)}"
        raise ManifestError(file, "", "", problem)
    if items is None:
        yield content
        return
    if depth >= _DEEPEST_LIST:
        raise ManifestError(file, "List", "items", "lists stand too deep within lists")
    for item in items:
        yield from _taken_apart(item, file, depth + 1)


def _header_of_json(content: bytes) -> _Header | None:
    try:
        return _HEADER.decode(content)
    except msgspec.ValidationError:
        return None


def _manifest(content: bytes | Mapping[str, object], file: str, number: int) -> Manifest:
    header = _header_of_json(content) if isinstance(content, bytes) else None
    if header is None:
        header = _header_of_tree(msgspec.json.decode(content) if isinstance(content, bytes) else content)
    return Manifest(
        file=file,
        number=number,
        api_version=header.api_version,
        kind=header.kind,
        name=header.metadata.name,
        namespace=header.metadata.namespace,
        content=content,
    )


def _header_of_tree(tree: Mapping[str, object]) -> _Header:
    """Return what there is of a header; what is no text is dealt with where the object is decoded."""
    metadata = tree.get("metadata")
    own = metadata if isinstance(metadata, Mapping) else {}
    return _Header(
        api_version=_text(tree.get("apiVersion")),
        kind=_text(tree.get("kind")),
        metadata=_Named(name=_text(own.get("name")), namespace=_text(own.get("namespace"))),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
