"""Zonal shifts of a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable

from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.runtime import Clock
from treenail.domain.model.zonal_shifts import ZonalShift


class FakeZonalShifts:
    """The port `ZonalShifts`: a zone is shifted away from until a time, or until that is taken back.

    `away` says whether ARC gives no answer now.
    """

    def __init__(self, clock: Clock, away: Callable[[], bool] = lambda: False) -> None:
        self._clock = clock
        self._away = away
        self._shifts: dict[str, ZonalShift] = {}

    def begin(self, shift: ZonalShift) -> None:
        """Begin a shift, in place of one away from the same zone."""
        self._shifts[shift.zone_id] = shift

    def cancel(self, zone_id: str) -> None:
        """End the shift away from a zone, if there is one."""
        self._shifts.pop(zone_id, None)

    def zonal_shifts(self) -> tuple[ZonalShift, ...]:
        """Return the shifts that have not ended, sorted.

        Raises:
            UnavailableError: no answer.
        """
        if self._away():
            raise UnavailableError("ARC gives no answer")
        now = self._clock.now()
        return tuple(sorted(one for one in self._shifts.values() if one.until > now))
