"""Interning of text that many objects of a cluster have in common, so that it is in memory once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping


def interned(text: str) -> str:
    """Return the one shared string that equals this one. It is freed when nobody uses it any more."""
    # What YAML was read into may be of a class of its own, with the line it is on: that is not shared.
    return sys.intern(text) if type(text) is str else text


def interned_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the same texts, each of them the one that is kept."""
    return tuple(interned(text) for text in texts)


def interned_items(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the same labels or annotations, of keys and values that are kept once."""
    return {interned(key): interned(value) for key, value in texts.items()}
