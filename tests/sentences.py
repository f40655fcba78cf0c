"""Sentences of blockers, as people read them, for tests that compare what is told."""

from __future__ import annotations

from typing import TypeVar

from treenail.domain.model.blockers import Blocker

T = TypeVar("T")


def said(found: T | Blocker) -> T | str:
    """Return the sentence of a blocker, and anything else as it is."""
    return found.sentence if isinstance(found, Blocker) else found
