"""Semantic versions (semver 2.0) as attributes of devices and selectors have them."""

from __future__ import annotations

import re
from typing import Final

from treenail.domain.model.devices import Version

_NUMBER: Final = r"(0|[1-9][0-9]*)"
_PART: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PART}(?:\.{_PART})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LONGEST: Final = 64


def version_of(text: str) -> Version | None:
    """Return a version of at most 64 characters by what it is written as, None where that is none."""
    found = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    major, minor, patch, before = found.groups()
    # A version before a release precedes it; of its parts numbers come before words.
    words = before.split(".") if before else ()
    parts = tuple((0, int(word), "") if word.isdecimal() else (1, 0, word) for word in words)
    return Version(text, (int(major), int(minor), int(patch), not before, parts))
