"""This process set up as the controller is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from treenail.adapters.cli.controller import tune


@contextmanager
def tuned() -> Iterator[None]:
    """Set it up for many threads and much that stays in memory, and back again."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    tune()
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
