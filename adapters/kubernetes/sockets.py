"""The socket of a running request, so that another thread can end the wait for its answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class Hears(Protocol):
    """Wants to know of sockets."""

    def dials(self, line: socket.socket) -> None:
        """A connection is made, or its TLS is. `line` is a second handle to it, to be closed by who hears."""

    def uses(self, line: object) -> None:
        """A request was sent by this socket."""


_hears: ContextVar[Hears | None] = ContextVar("treenail_hears_of_sockets", default=None)


@contextmanager
def told_of_sockets(hears: Hears) -> Iterator[None]:
    """Have `hears` told of the socket of every request that this thread sends."""
    token = _hears.set(hears)
    try:
        yield
    finally:
        _hears.reset(token)


def tell_of_sockets(manager: urllib3.PoolManager) -> None:
    """Make all connections of `manager` tell which sockets they use."""
    manager.pool_classes_by_scheme = _POOLS


def hang_up(line: object) -> None:
    """End all waiting on a socket, in whichever thread. Whoever waits sees the connection break."""
    if isinstance(line, socket.socket):
        try:
            # Not by way of TLS, whose state belongs to the one who reads.
            socket.socket.shutdown(line, socket.SHUT_RDWR)
        except OSError:
            # It is closed already.
            return


class _Telling:
    """Goes before urllib3's connections."""

    def _new_conn(self) -> socket.socket:
        line: socket.socket = super()._new_conn()  # type: ignore[misc]
        hears = _hears.get()
        if hears is not None:
            # TLS takes over the handle itself, and gives out its own only when all is agreed.
            hears.dials(line.dup())
        return line

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's business
        super().request(*args, **kwargs)  # type: ignore[misc]
        hears = _hears.get()
        if hears is not None:
            hears.uses(self.sock)  # type: ignore[attr-defined]


class _Connection(_Telling, HTTPConnection):
    pass


class _SecureConnection(_Telling, HTTPSConnection):
    pass


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_POOLS: Final[dict[str, Any]] = {"http": _Pool, "https": _SecurePool}
