"""How fast the machine is at the moment: the CPU time of a fixed piece of work."""

from __future__ import annotations

import time
from typing import Final

_LOOPS: Final = 10_000


def probe_ms() -> float:
    """Do a fixed piece of work, about a millisecond of it, and return the CPU time it took, in ms.

    On a virtual machine the same work may take twice the CPU time from one second to the next, while the
    kernel counts hardly any of it as stolen: probably other guests share the physical cores.
    """
    begun = time.thread_time()
    value = 0
    for number in range(_LOOPS):
        value = (value * 31 + number) & 0xFFFF
    return (time.thread_time() - begun) * 1000
