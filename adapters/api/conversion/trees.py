"""Typed access to trees of plain JSON values."""

from __future__ import annotations

from typing import Any

from treenail.adapters.api.errors import FieldError

Tree = dict[str, Any]


def mapping(parent: Tree, key: str, at: str) -> Tree:
    """Return the mapping under `key`, an empty one that is not in `parent` where there is none.

    Raises:
        FieldError: the value there is no mapping; `at` is the path of the parent.
    """
    found = parent.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FieldError(f"{at}.{key}".lstrip("."), "must be a mapping")
    return found


def mappings(parent: Tree, key: str, at: str) -> list[Tree]:
    """Return the list of mappings under `key`, an empty one where there is none; see `mapping`."""
    found = parent.get(key)
    if found is None:
        return []
    path = f"{at}.{key}".lstrip(".")
    if not isinstance(found, list):
        raise FieldError(path, "must be a list")
    for n, item in enumerate(found):
        if not isinstance(item, dict):
            raise FieldError(f"{path}[{n}]", "must be a mapping")
    return found


def text(parent: Tree, key: str, at: str) -> str:
    """Return the text under `key`, "" where there is none; see `mapping`."""
    found = parent.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise FieldError(f"{at}.{key}".lstrip("."), "must be text")
    return found
