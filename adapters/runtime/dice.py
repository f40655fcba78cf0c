"""Random numbers from the operating system."""

from __future__ import annotations

import secrets
from typing import Final

_DICE: Final = secrets.SystemRandom()


class SystemDice:
    """The port `Dice`. Threads may share it."""

    def uniform(self, low: float, high: float) -> float:
        """Return a number between `low` and `high`."""
        return _DICE.uniform(low, high)

    def token(self) -> str:
        """Return ten hexadecimal digits."""
        return secrets.token_hex(5)
