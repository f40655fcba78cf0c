"""Warnings about manifests that are taken, though nothing, or not everything, follows from them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]


class ManifestWarning(UserWarning):
    """A kind is not known here and skipped, a field is not acted on...: what `treenail rehearse` warns of."""


def warn_of(lines: Iterable[str]) -> None:
    """Warn of each line, at the place outside of this package from which it was called."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 (warnings count frames, and cannot skip a package)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{_PACKAGE}."):
        level, frame = level + 1, frame.f_back
    for line in lines:
        warnings.warn(line, ManifestWarning, stacklevel=level)
