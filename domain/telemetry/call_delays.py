"""Delays within calls to the outside: noted where attempts are made, heard of by who asked for the call."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from treenail.domain.telemetry.delays import CallDelay

R = TypeVar("R")

_noted: ContextVar[list[CallDelay] | None] = ContextVar("treenail_call_delays", default=None)


def noting_delays(call: Callable[[], R], into: list[CallDelay]) -> Callable[[], R]:
    """Return `call`, which puts the delays that are noted within it `into` a list, however deep they come."""

    def noted() -> R:
        token = _noted.set(into)
        try:
            return call()
        finally:
            _noted.reset(token)

    return noted


def note_delay(delay: CallDelay) -> None:
    """Note a delay of the call at hand; nothing where nobody asked for it."""
    into = _noted.get()
    if into is not None:
        into.append(delay)
