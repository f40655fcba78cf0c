"""Capacity pauses: offerings that ran out are kept from consolidation for longer than from pods that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.backoff import Backoff
from treenail.domain.model.catalogue_keys import OfferingKey

# A choice, not a measurement: shortages last from minutes to hours, and who tries too early only loses time.
_BACKOFF: Final = Backoff(first=600.0, longest=4 * 3600.0, jitter=0.2)


@dataclass(frozen=True, slots=True)
class _Pause:
    failures: int
    began: float
    until: float


class CapacityPauses:
    """Offerings that ran out, to which nothing that runs is moved. Mutable. Times are monotonic seconds.

    Each is for ten minutes, and for twice as long, up to four hours, when it runs out again. One that was
    had for as long as it was paused, without running out, begins anew. `uniform` draws between two bounds.
    """

    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self._uniform = uniform
        self._pauses: dict[OfferingKey, _Pause] = {}

    def ran_out(self, offerings: Iterable[OfferingKey], now: float) -> None:
        """Take in what ran out together, and is tried together again. What is paused stays so."""
        self._pauses = {one: pause for one, pause in self._pauses.items() if now < _forgotten_at(pause)}
        known = {one: self._pauses.get(one) for one in offerings}
        before = [pause.failures for pause in known.values() if pause is not None and pause.until <= now]
        failures = max(before, default=0) + 1
        pause = _Pause(failures, now, now + self._uniform(*_BACKOFF.bounds(failures)))
        self._pauses |= {one: pause for one, was in known.items() if was is None or was.until <= now}

    def paused(self, now: float) -> frozenset[OfferingKey]:
        """Return the offerings that are to be left alone."""
        return frozenset(one for one, pause in self._pauses.items() if now < pause.until)


def _forgotten_at(pause: _Pause) -> float:
    return 2 * pause.until - pause.began
