"""What a process and all it has started use, as /proc tells."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds used so far, those of children that have ended included, and resident bytes now."""

    cpu_seconds: float
    resident_bytes: int


def usage(pid: int) -> Usage:
    """Return what a process and its living descendants use together; one that ends meanwhile is left out."""
    cpu, resident = 0.0, 0
    for member in family(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        cpu += sum(int(ticks) for ticks in fields[11:15]) / _TICKS
        resident += int(fields[21]) * _PAGE
    return Usage(cpu, resident)


def family(pid: int) -> list[int]:
    """Return a process and its living descendants, each after the one that started it."""
    found = [pid]
    for member in found:
        for children in sorted(Path(f"/proc/{member}/task").glob("*/children")):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found
