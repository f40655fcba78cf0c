"""Where the programs of the real parts are."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ADVICE: Final = "`make parts` builds them where Go is (docs/real-parts.md)"


class NotBuiltError(Exception):
    """Some real part is not built here. The message says which, and how to get it."""


@functools.cache
def place(part: str) -> Path:
    """Return where a part is built to; it may not be there."""
    # The program is ours and stands beside this file.
    done = subprocess.run([HERE / "build", "where", part], check=True, capture_output=True, text=True)  # noqa: S603
    return Path(done.stdout.strip())


def program(part: str) -> Path:
    """Return the program of a part.

    Raises:
        NotBuiltError: it is not built.
    """
    require(part)
    return place(part)


def require(*parts: str) -> None:
    """Do nothing when all these parts are built.

    Raises:
        NotBuiltError: one is not.
    """
    missing = [part for part in parts if not os.access(place(part), os.X_OK)]
    if missing:
        why = "" if shutil.which("go") else " and there is no Go here"
        raise NotBuiltError(f"real parts are not built: no {', '.join(missing)}{why}; {ADVICE}")
