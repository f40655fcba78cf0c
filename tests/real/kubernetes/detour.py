"""A way to a server that a test can close and open."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

_AT_ONCE: Final = 65_536


class Detour:
    """Passes bytes on to a loopback port. While it is closed, connections end as soon as they are made."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._open = True
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._run(self._accept)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._listener)
        self.close()
        for thread in self._threads:
            thread.join(5)

    def close(self) -> None:
        """Cut all connections, and let none through."""
        with self._lock:
            self._open = False
            for one in self._sockets:
                _end(one)
            self._sockets.clear()

    def open(self) -> None:
        with self._lock:
            self._open = True

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._join(near)

    def _join(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._to, timeout=5)
        except OSError:
            _end(near)
            return
        far.settimeout(None)
        with self._lock:
            if not self._open:
                _end(near)
                _end(far)
                return
            self._sockets += [near, far]
        self._run(lambda: _pass_on(near, far))
        self._run(lambda: _pass_on(far, near))

    def _run(self, call: Callable[[], None]) -> None:
        thread = threading.Thread(target=call, name="detour", daemon=True)
        self._threads.append(thread)
        thread.start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_AT_ONCE):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
