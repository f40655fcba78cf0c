"""A listing that is shared by all who ask at about the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Generic, TypeVar

from treenail.domain.model.runtime import Clock

T = TypeVar("T")

_FRESH_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class _Reading(Generic[T]):
    began_at: float
    result: Future[T] = field(default_factory=Future)


class SharedListing(Generic[T]):
    """Reads a listing for many threads: whoever asks while one is read, or within a second, shares it.

    After `outdate` nobody is given what was read, or began to be read, before it.
    """

    def __init__(self, clock: Clock, read: Callable[[], T]) -> None:
        self._clock = clock
        self._read = read
        self._lock = Lock()
        self._reading: _Reading[T] | None = None

    def get(self) -> T:
        """Return the listing. An error of the reading is raised to all who share it."""
        with self._lock:
            reading = self._reading
            mine = reading is None or self._stale(reading)
            if reading is None or mine:
                reading = self._reading = _Reading(self._clock.monotonic())
        if mine:
            self._carry_out(reading)
        return reading.result.result()

    def outdate(self) -> None:
        """Have the next who asks read anew: something was changed."""
        with self._lock:
            self._reading = None

    def _stale(self, reading: _Reading[T]) -> bool:
        return reading.result.done() and self._clock.monotonic() - reading.began_at > _FRESH_SECONDS

    def _carry_out(self, reading: _Reading[T]) -> None:
        try:
            reading.result.set_result(self._read())
        except BaseException as error:  # noqa: BLE001 (told to all who wait, this thread among them)
            with self._lock:
                if self._reading is reading:
                    self._reading = None
            reading.result.set_exception(error)
