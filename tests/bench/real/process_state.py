"""What a process and all it has started hold open and use, as /proc tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from tests.bench.real.usage import family

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MIB: Final = 2**20


class ProcessState(msgspec.Struct, frozen=True, kw_only=True):
    """What a process and its descendants have now.

    `resident_mib` is one number a process, the oldest process first; `files` are all open file descriptors,
    `sockets` those of them that are sockets. `cpu_seconds` is the sum since the start.
    """

    resident_mib: list[float]
    cpu_seconds: float
    threads: int
    files: int
    sockets: int

    @property
    def total_mib(self) -> float:
        return sum(self.resident_mib)


def process_state(pid: int) -> ProcessState:
    """Return the state of a process and its living descendants; one that ends meanwhile is left out."""
    resident: list[float] = []
    cpu, threads, files, sockets = 0.0, 0, 0, 0
    for member in family(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
            opened = [_target(entry) for entry in Path(f"/proc/{member}/fd").iterdir()]
        except OSError:
            continue
        resident.append(round(int(fields[21]) * _PAGE / _MIB, 1))
        cpu += sum(int(ticks) for ticks in fields[11:15]) / _TICKS
        threads += int(fields[17])
        files += len(opened)
        sockets += sum(target.startswith("socket:") for target in opened)
    return ProcessState(
        resident_mib=resident, cpu_seconds=round(cpu, 2), threads=threads, files=files, sockets=sockets
    )


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""
