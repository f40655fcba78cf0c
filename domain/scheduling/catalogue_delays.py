"""What delays finding out what pools can buy: reads of catalogues that fail, are slow or wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.telemetry.delays import Delay, FailingCalls

_CALL: Final = "EC2/DescribeInstanceTypes"
_USUAL_SECONDS: Final = 3.0


class CatalogueDelays:
    """The delays of the last read of each catalogue. Mutable."""

    def __init__(self) -> None:
        self._calls = FailingCalls()
        self._last: dict[CatalogueKey, tuple[Delay, ...]] = {}
        # Those that are still not answered: pools of theirs may not buy, whether they are asked for or not.
        self._failing: dict[CatalogueKey, tuple[Delay, ...]] = {}

    def note(
        self,
        key: CatalogueKey,
        within: tuple[Delay, ...],
        error: Exception | None,
        *,
        since: datetime,
        now: datetime,
    ) -> None:
        """Take in that a catalogue was read, `since` then, or why not; and the delays `within` the call."""
        about = f"{_CALL} for {key.node_class}"
        if error is not None:
            delays = self._calls.failed(key, about, error, within, since=since, now=now)
            before = self._failing.get(key, ())
            attempts = sum(one.attempts for one in before[:1])
            self._failing[key] = (replace(delays[0], attempts=delays[0].attempts + attempts), *delays[1:])
            self._last.pop(key, None)
            return
        self._failing.pop(key, None)
        self._last[key] = self._calls.answered(key, about, within, since=since, now=now, usual=_USUAL_SECONDS)

    def during(self, begun_at: datetime, now: datetime) -> tuple[Delay, ...]:
        """Return what delayed a decision, begun then, that is passed on now; what is over is forgotten."""
        over = [one for delays in self._last.values() for one in delays if one.until >= begun_at]
        failing = [replace(one, until=now) for delays in self._failing.values() for one in delays]
        self._last = {}
        return (*over, *failing)
