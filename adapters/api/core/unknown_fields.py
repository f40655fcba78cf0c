"""Misspelt fields of Kubernetes' own kinds, which we read in part.

The names are those of the API server. A name that is near none of them is let pass: it may be newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec

from treenail.adapters.api.diagnosis import meant, quoted, under
from treenail.adapters.api.errors import UnknownFieldError
from treenail.adapters.api.model import Content

# By model: its fields, and of which model each is, "" for one that is not looked into.
_Fields: TypeAlias = Mapping[str, Mapping[str, str]]
_WRITTEN_BY_A_SERVER: Final = b'"resourceVersion"'


@cache
def _fields() -> _Fields:
    data = files("treenail.adapters.api.core").joinpath("data", "fields.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, str]])


def check_names(api_version: str, kind: str, content: Content) -> None:
    """Check that no field of an object is a misspelt one. What an API server wrote is not looked at.

    Raises:
        UnknownFieldError: a field is not known, but near one that is, which is named.
    """
    group, _, _ = api_version.rpartition("/")
    if kind not in _fields() or ("." in group and not group.endswith(".k8s.io")):
        return
    if isinstance(content, bytes):
        if _WRITTEN_BY_A_SERVER in content:
            return
        content = msgspec.json.decode(content, type=dict[str, object])
    metadata = content.get("metadata")
    if not isinstance(metadata, Mapping) or "resourceVersion" not in metadata:
        _check(content, kind, "")


def _check(tree: object, model: str, path: str) -> None:
    if isinstance(tree, list):
        for number, item in enumerate(tree):
            _check(item, model, f"{path}[{number}]")
        return
    if not isinstance(tree, Mapping):
        return
    known = _fields()[model]
    for key, below in tree.items():
        of = known.get(key)
        if of is None:
            near = meant(key, known) if isinstance(key, str) else ""
            if near:
                raise UnknownFieldError(under(path, key), f"{quoted(key)} is not a known field{near}")
        elif of:
            _check(below, of, under(path, key))
