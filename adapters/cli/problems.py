"""Bad input: one line on stderr, exit code 2."""

from __future__ import annotations

from typing import Final

BAD_INPUT: Final = 2


class BadInputError(Exception):
    """What the user gave cannot be worked with; the text is the one line to show."""
