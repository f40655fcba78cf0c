"""The record of recent failures of the process, in a file, and how long provisioning is off after them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from treenail.domain.model.instants import in_utc
from treenail.domain.model.runtime import Clock

WITHIN: Final = timedelta(minutes=10)
TOO_MANY: Final = 3
# How long provisioning is off after too many failures, and after each one more.
PAUSES: Final = (60.0, 120.0, 300.0, 600.0)
# Up to so much longer, by chance.
SPREAD: Final = 0.25
# A failure after so long is the first of its kind again.
QUIET: Final = timedelta(minutes=30)
_FILE: Final = "failures.json"


@dataclass(frozen=True, slots=True)
class _Record:
    """Times of recent failures, oldest first.

    `more` is how many failures followed since there were too many, None where there were not.
    """

    times: tuple[datetime, ...] = ()
    more: int | None = None


class Failures:
    """The failures of late, in a file of `directory`.

    The time of day alone outlives the process, and may be set meanwhile: a failure in the future was now.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._file = directory / _FILE
        self._clock = clock

    def recent(self) -> int:
        """Return how often the process failed within ten minutes. A file that cannot be read says nothing."""
        return len(self._recent(self._read(), self._clock.now()))

    def pause(self) -> float | None:
        """Return for how many seconds provisioning is to be off still; None where it may be on."""
        record, now = self._read(), self._clock.now()
        if record.more is None or not self._goes_on(record, now):
            return None
        whole = PAUSES[min(record.more, len(PAUSES) - 1)]
        over = max(0.0, (now - record.times[-1]).total_seconds())
        return whole - over if over < whole else None

    def prepare(self) -> None:
        """See to it that a failure can be noted.

        Raises:
            OSError: it could not be.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        tried = self._file.with_suffix(".try")
        tried.touch()
        tried.unlink()

    def note(self) -> None:
        """Note that the process fails now.

        Raises:
            OSError: it cannot be written.
        """
        record, now = self._read(), self._clock.now()
        times = (*self._recent(record, now), now)
        more = record.more
        if more is not None and self._goes_on(record, now):
            more += 1
        else:
            more = 0 if len(times) >= TOO_MANY else None
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # A process may be killed while it writes: what is there stays whole.
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps({"times": [at.isoformat() for at in times[-TOO_MANY:]], "more": more}))
        fresh.replace(self._file)

    def _recent(self, record: _Record, now: datetime) -> tuple[datetime, ...]:
        return tuple(min(at, now) for at in record.times if at >= now - WITHIN)

    def _goes_on(self, record: _Record, now: datetime) -> bool:
        return bool(record.times) and now - record.times[-1] <= QUIET

    def _read(self) -> _Record:
        try:
            written = json.loads(self._file.read_text())
            return _record(written)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return _Record()


def _record(written: object) -> _Record:
    if isinstance(written, list):  # as it was written before provisioning came back by itself
        times = _times(written)
        return _Record(times, 0 if len(times) >= TOO_MANY else None)
    if not isinstance(written, dict):
        raise TypeError("neither a list nor an object")
    more = written["more"]
    if more is not None and (not isinstance(more, int) or isinstance(more, bool) or more < 0):
        raise TypeError("more is no number of failures")
    return _Record(_times(written["times"]), more)


def _times(written: object) -> tuple[datetime, ...]:
    if not isinstance(written, list):
        raise TypeError("times is no list")
    times = [datetime.fromisoformat(at) for at in written]
    return tuple(sorted(in_utc(at) for at in times if at.tzinfo is not None))
