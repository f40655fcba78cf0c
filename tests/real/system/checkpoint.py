"""A way to the API server on which a test can stop one request, before it is carried out or after."""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.real.kubernetes.faults import Asked
from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.control_plane import ControlPlane


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Which request is stopped: the first of its `method` whose path and body match, after `skip` others.

    It is stopped before the API server hears of it, or, with `done`, when it is carried out and answered.
    """

    method: str
    path: str
    body: str = ""
    done: bool = False
    skip: int = 0

    def matches(self, asked: Asked, body: bytes) -> bool:
        return (
            asked.method == self.method
            and re.search(self.path, asked.path) is not None
            and re.search(self.body, body.decode(errors="replace")) is not None
        )


@dataclass(slots=True)
class _Waiting:
    stop: Stop
    left: int
    reached: threading.Event = field(default_factory=threading.Event)


class Checkpoint(Proxy):
    """A proxy that stops one request where it is told to.

    The request's sender gets no answer any more, and one that was not carried out yet never is.
    """

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        super().__init__(plane, folder)
        self._waiting: _Waiting | None = None

    def stop_at(self, stop: Stop) -> threading.Event:
        """Stop the request that this tells of, in place of any told before; the event is set when it came."""
        self._waiting = waiting = _Waiting(stop, stop.skip)
        return waiting.reached

    async def _halt(self, near: asyncio.StreamWriter, asked: Asked, body: bytes, *, done: bool) -> None:
        waiting = self._waiting
        if waiting is None or done is not waiting.stop.done or not waiting.stop.matches(asked, body):
            return
        waiting.left -= 1
        if waiting.left >= 0:
            return
        self._waiting = None
        waiting.reached.set()
        await near.wait_closed()
        raise EOFError
