"""The time of this machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The port `Clock`."""

    def now(self) -> datetime:
        """Return the time of day, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()
