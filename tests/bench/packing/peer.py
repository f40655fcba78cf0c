"""Where Karpenter's scheduler is, built as a program of its own."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

_BUILD: Final = Path(__file__).resolve().parent / "karpenter" / "build"
_PROGRAM: Final = "karpenter-packing"


class PeerNotBuiltError(Exception):
    """Karpenter's scheduler is not built here. The message says how to get it."""


@functools.cache
def folder() -> Path:
    """Return the folder that it is built into; it may not be there."""
    # The program is ours and stands beside this file.
    done = subprocess.run([_BUILD, "where"], check=True, capture_output=True, text=True)  # noqa: S603
    return Path(done.stdout.strip())


def program() -> Path:
    """Return the program.

    Raises:
        PeerNotBuiltError: it is not built.
    """
    return _built(folder() / _PROGRAM)


def kwok_catalogue() -> Path:
    """Return the instance types of Karpenter's KWOK provider, as they come with it.

    Raises:
        PeerNotBuiltError: it is not built.
    """
    return _built(folder() / "kwok.json")


def _built(path: Path) -> Path:
    if not os.access(path, os.R_OK):
        why = "" if shutil.which("go") else " and there is no Go here"
        advice = "`make bench-packing` builds it where Go is"
        raise PeerNotBuiltError(f"Karpenter's scheduler is not built: no {path.name}{why}; {advice}")
    return path
