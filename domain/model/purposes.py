"""Purposes of calls to the cloud: whose turn it is where not all can be made at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Final


class Purpose(IntEnum):
    """The purpose of a call, the most urgent first."""

    # A machine is taken, or pods are on their way out of a node.
    INTERRUPTION = 0
    # A node is bought, and joins.
    PROVISIONING = 1
    # A node goes that could stay.
    DISRUPTION = 2
    # What objects show of themselves, and what is looked up in case.
    HOUSEKEEPING = 3
    # What is written for people alone: events.
    TELLING = 4


BY_DEFAULT: Final = Purpose.PROVISIONING
_at_hand: ContextVar[Purpose] = ContextVar("treenail_purpose", default=BY_DEFAULT)


@contextmanager
def calling_for(purpose: Purpose) -> Iterator[None]:
    """Make all calls within for `purpose`, however deep: requests wait for their permits by it."""
    token = _at_hand.set(purpose)
    try:
        yield
    finally:
        _at_hand.reset(token)


def purpose_at_hand() -> Purpose:
    """Return what the calls made here are for."""
    return _at_hand.get()
