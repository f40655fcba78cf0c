"""A cache of AWS's answers, each kept for a while."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

from treenail.domain.model.errors import PortError
from treenail.domain.model.runtime import Clock, Dice, Log

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST_KEPT: Final = 256
# Where there is nothing, somebody is about to put it right: look again soon.
_EMPTY_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 60.0
# Answers that came together shall not all grow old together.
_EARLIEST: Final = 0.9


def unheard(_message: str, /, **_fields: object) -> None:
    """Drop a log line."""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    fresh_until: float
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class AnswerCaches:
    """Makes the caches of answers: by this clock and these dice, with trouble written to this log."""

    clock: Clock
    dice: Dice
    log: Log

    def of(
        self,
        what: str,
        fetch: Callable[[K], V],
        *,
        seconds: float,
        retry_seconds: float = _RETRY_SECONDS,
        stand_in: V | None = None,
        patience: float | None = None,
    ) -> Remembered[K, V]:
        """Return a cache of what `fetch` answers; see `Remembered`."""
        return Remembered(
            self,
            what,
            fetch,
            seconds=seconds,
            retry_seconds=retry_seconds,
            stand_in=stand_in,
            patience=patience,
        )


class Remembered(Generic[K, V]):
    """A cache of what `fetch` answers by key, for `seconds` (or up to a tenth less). Threads may share it.

    Of all who ask for one key at once, one fetches: the others wait for the answer, or have the previous
    one. Where fetching fails, the previous answer stands for another `retry_seconds`, and so does
    `stand_in` where there is none; only where there is neither, the PortError is raised. An empty answer
    is kept for ten seconds. With a `patience`, in seconds, those who wait for another's fetching take the
    `stand_in` when it takes longer.
    """

    def __init__(
        self,
        caches: AnswerCaches,
        what: str,
        fetch: Callable[[K], V],
        *,
        seconds: float,
        retry_seconds: float,
        stand_in: V | None,
        patience: float | None,
    ) -> None:
        self._caches = caches
        self._what = what
        self._fetch = fetch
        self._seconds = seconds
        self._retry_seconds = retry_seconds
        self._stand_in = stand_in
        self._patience = patience
        self._lock = Lock()
        self._kept: LRUCache[K, _Kept[V]] = LRUCache(_MOST_KEPT)
        self._flights: dict[K, Future[V]] = {}

    def get(self, key: K, *, ahead: float = 0.0) -> V:
        """Return the answer for `key`; one that would be old in `ahead` seconds is fetched anew.

        Raises:
            PortError: it could not be fetched, and never was before.
        """
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and self._now() + ahead < kept.fresh_until:
                return kept.value
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if mine:
            self._fly(key, kept, flight)
        elif kept is not None and not kept.stand_in:
            return kept.value
        elif self._stand_in is not None:
            done, _ = wait((flight,), self._patience)
            return flight.result() if done else self._stand_in
        return flight.result()

    def fresh(self, key: K, *, ahead: float = 0.0) -> bool:
        """Return whether `get` would return at once."""
        with self._lock:
            kept = self._kept.get(key)
            return kept is not None and self._now() + ahead < kept.fresh_until

    def last(self, key: K) -> V | None:
        """Return the last answer for `key`, or its stand-in, however old; None before any."""
        with self._lock:
            kept = self._kept.get(key)
            return None if kept is None else kept.value

    def forget(self, key: K) -> None:
        """Fetch the answer for `key` anew when it is asked for next."""
        with self._lock:
            self._kept.pop(key, None)

    def _fly(self, key: K, kept: _Kept[V] | None, flight: Future[V]) -> None:
        """Fetch an answer, and give it, or the error, to all threads that wait for it."""
        try:
            result = self._fetched(key, kept)
        except BaseException as error:
            with self._lock:
                del self._flights[key]
            flight.set_exception(error)
            raise
        with self._lock:
            self._kept[key] = result
            del self._flights[key]
        flight.set_result(result.value)

    def _fetched(self, key: K, kept: _Kept[V] | None) -> _Kept[V]:
        try:
            value = self._fetch(key)
        except PortError as error:
            if kept is None and self._stand_in is None:
                raise
            return self._previous(kept, error)
        seconds = self._seconds if value else min(self._seconds, _EMPTY_SECONDS)
        return _Kept(value, self._until(seconds))

    def _previous(self, kept: _Kept[V] | None, error: PortError) -> _Kept[V]:
        self._caches.log(
            f"cannot look up {self._what}, going on with what is known",
            logger="ec2.discovery",
            level="warning",
            error=str(error),
            stand_in=kept is None or kept.stand_in,
        )
        until = self._until(min(self._retry_seconds, self._seconds))
        if kept is not None:
            return _Kept(kept.value, until, kept.stand_in)
        assert self._stand_in is not None  # noqa: S101 (the caller looked)
        return _Kept(self._stand_in, until, stand_in=True)

    def _until(self, seconds: float) -> float:
        return self._now() + seconds * self._caches.dice.uniform(_EARLIEST, 1.0)

    def _now(self) -> float:
        return self._caches.clock.monotonic()
