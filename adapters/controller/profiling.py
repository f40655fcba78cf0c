"""Profiles of the process: where its threads spend their time, by samples of their stacks."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from treenail.adapters.controller.metrics_and_probes import Page, Pages

# Whoever runs commands in the pod, or forwards a port to it, may look; nobody else.
LOOPBACK: Final = "127.0.0.1"
_SECONDS: Final = 10.0
# Often enough for what takes milliseconds, and less than a hundredth of a processor.
_PAUSE: Final = 0.01


def profiling_pages(
    *,
    seconds: float = _SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> Pages:
    """Return the pages of profiles, by path.

    A line is a stack, from the thread inward, with how many samples found it: the form that flame graphs
    are made of.
    """
    return {
        "/debug/pprof/profile": lambda: _page(_sampled(seconds, sleep, monotonic)),
        "/debug/pprof/threads": lambda: _page(Counter(_stacks())),
    }


def _page(stacks: Counter[str]) -> Page:
    return Page("".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items())).encode())


def _sampled(seconds: float, sleep: Callable[[float], None], monotonic: Callable[[], float]) -> Counter[str]:
    end = monotonic() + seconds
    stacks: Counter[str] = Counter()
    while monotonic() < end:
        stacks.update(_stacks())
        sleep(_PAUSE)
    return stacks


def _stacks() -> list[str]:
    """Return what each thread but this one is at, as names that semicolons part."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    own = threading.get_ident()
    return [
        ";".join((names.get(ident, f"thread-{ident}"), *_calls(frame)))
        for ident, frame in sys._current_frames().items()  # noqa: SLF001 (there is no other way to see them)
        if ident != own
    ]


def _calls(frame: FrameType | None) -> list[str]:
    calls: list[str] = []
    while frame is not None:
        code = frame.f_code
        calls.append(f"{Path(code.co_filename).stem}.{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return calls[::-1]
