"""Differences that a conversion there and back would lose, and how they are restored.

A difference says: where the object, converted back, has `found` at a path, it originally had `original`. It
is restored only if `found` is still there: a field that somebody changed meanwhile keeps the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from treenail.adapters.api.conversion.trees import Tree
from treenail.adapters.api.errors import FieldError

_AT: Final = "at"
_FOUND: Final = "found"
_ORIGINAL: Final = "original"

Step: TypeAlias = str | int
Difference: TypeAlias = dict[str, Any]


def differences(found: Tree, original: Tree, path: Sequence[Step] = ()) -> Iterator[Difference]:
    """Yield what must be put back into `found` to give `original`; a field that is absent has no entry."""
    for key in sorted(found.keys() | original.keys()):
        here = [*path, key]
        if key not in found:
            yield {_AT: here, _ORIGINAL: original[key]}
        elif key not in original:
            yield {_AT: here, _FOUND: found[key]}
        else:
            yield from _between(found[key], original[key], here)


def _between(found: object, original: object, path: list[Step]) -> Iterator[Difference]:
    if found == original:
        return
    if isinstance(found, dict) and isinstance(original, dict):
        yield from differences(found, original, path)
    elif isinstance(found, list) and isinstance(original, list) and len(found) == len(original):
        for n, (one, other) in enumerate(zip(found, original, strict=True)):
            if one != other:
                yield {_AT: [*path, n], _FOUND: one, _ORIGINAL: other}
    else:
        yield {_AT: path, _FOUND: found, _ORIGINAL: original}


def fields_of(several: Sequence[Any]) -> tuple[str, ...]:
    """Return where in an object the differences are: ("spec.limits", "spec.template.spec.taints[0]")."""
    return tuple(
        "spec" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one[_AT])
        for one in several
    )


def put_back(tree: Tree, several: Sequence[object], at: str) -> None:
    """Put `several` differences back into `tree`; `at` is where they were read.

    Raises:
        FieldError: one of them is none.
    """
    moved: set[tuple[int, int]] = set()
    for one in several:
        _put_back(tree, _checked(one, at), moved)


def _checked(one: object, at: str) -> Difference:
    path = one.get(_AT) if isinstance(one, dict) else None
    steps = isinstance(path, list) and path and all(isinstance(step, str | int) for step in path)
    if not isinstance(one, dict) or not steps or not one.keys() & {_FOUND, _ORIGINAL}:
        raise FieldError(at, "is none of our notes of an object's other version")
    return one


def _put_back(tree: Tree, one: Difference, moved: set[tuple[int, int]]) -> None:
    *way, last = one[_AT]
    parent: Any = tree
    for step in way:
        parent = _child(parent, step)
    if isinstance(last, str) and isinstance(parent, dict):
        if (last in parent) != (_FOUND in one) or parent.get(last) != one.get(_FOUND):
            return
        if _ORIGINAL in one:
            parent[last] = one[_ORIGINAL]
        else:
            del parent[last]
    elif isinstance(last, int) and isinstance(parent, list) and {_FOUND, _ORIGINAL} <= one.keys():
        n = _place(parent, last, one[_FOUND], moved)
        if n is not None:
            moved.add((id(parent), n))
            parent[n] = one[_ORIGINAL]


def _child(parent: object, step: Step) -> object:
    if isinstance(parent, dict) and isinstance(step, str):
        return parent.get(step)
    if isinstance(parent, list) and isinstance(step, int) and 0 <= step < len(parent):
        return parent[step]
    return None


def _place(items: list[Any], index: int, found: object, moved: set[tuple[int, int]]) -> int | None:
    """Return where the item is now: others may have come before it, or gone."""
    places = sorted(range(len(items)), key=lambda n: (n != index, n))
    return next((n for n in places if items[n] == found and (id(items), n) not in moved), None)
