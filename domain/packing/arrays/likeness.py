"""Names in sentences: the nearest known name to one that is not known, and the first of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

# How alike two names are where one is probably a slip of the pen.
_NEAR: Final = 0.75


def likest(word: str, known: Iterable[str]) -> str:
    """Return the one of `known` that `word` probably stood for; nothing where it is one or like none."""
    return _likest(word, tuple(sorted(known)))


# Pools have the same names, and pods that are refused the same slips.
@lru_cache(maxsize=256)
def _likest(word: str, listed: tuple[str, ...]) -> str:
    near = next(iter(get_close_matches(word, listed, 1, _NEAR)), "")
    return "" if near == word else near


def likest_of(words: Iterable[str], known: Iterable[str]) -> str:
    """Return the first of `known` that one of `words`, in sorted order, was probably meant to be."""
    listed = tuple(known)
    return next((near for word in sorted(words) if (near := likest(word, listed))), "")


def listed(names: Sequence[str], most: int) -> str:
    """Return `names` for a sentence, of more than `most` the first ones and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def hint(near: str) -> str:
    """Return the end of a sentence that asks whether `near` was meant, nothing where there is none."""
    return f" (did you mean {near}?)" if near else ""
