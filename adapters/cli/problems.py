"""Bad input: one line on stderr, exit code 2."""

from __future__ import annotations

from typing import Final

BAD_INPUT: Final = 2


class BadInputError(Exception):
    """Input that cannot be used. The text is the one line shown to the user."""
