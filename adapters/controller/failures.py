"""How often the process failed of late, as it remembers across its own ends."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from treenail.domain.model.runtime import Clock

WITHIN: Final = timedelta(minutes=10)
TOO_MANY: Final = 3
_FILE: Final = "failures.json"


class Failures:
    """The times of the failures of the last ten minutes, in a file of `directory`."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._file = directory / _FILE
        self._clock = clock

    def recent(self) -> int:
        """Return how often the process failed within ten minutes. A file that cannot be read says nothing."""
        return len(self._recent())

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
        times = [*self._recent(), self._clock.now()]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # A process may be killed while it writes: what is there stays whole.
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps([at.isoformat() for at in times]))
        fresh.replace(self._file)

    def _recent(self) -> list[datetime]:
        since = self._clock.now() - WITHIN
        try:
            times = [datetime.fromisoformat(at) for at in json.loads(self._file.read_text())]
            return [at for at in times if at >= since]
        except (OSError, ValueError, TypeError):
            return []
