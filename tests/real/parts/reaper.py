"""Ends what a test started when the test itself was killed. Run as a program, with its orders on stdin.

Each line of stdin names a process (`process PID BORN`) or a folder (`folder PATH`). When stdin ends, because
whoever held it closed it or died, what still lives is killed and the folders are removed. A process is told
from a later one with the same id by its time of birth.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

PATIENCE = 5.0


def born(pid: int) -> int | None:
    """Return when a process was started, in clock ticks since boot; None when it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def kill(pid: int, birth: int) -> None:
    if born(pid) == birth:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while born(pid) == birth and time.monotonic() < deadline:
        time.sleep(0.01)


def main() -> None:
    for unwanted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(unwanted, signal.SIG_IGN)
    processes: list[tuple[int, int]] = []
    folders: list[str] = []
    for line in sys.stdin:
        kind, _, rest = line.rstrip("\n").partition(" ")
        if kind == "folder":
            folders.append(rest)
        else:
            pid, birth = rest.split()
            processes.append((int(pid), int(birth)))
    for pid, birth in reversed(processes):
        kill(pid, birth)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
