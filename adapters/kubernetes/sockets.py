"""Which socket a request went out on, so that another thread can end the wait for its answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

Hears: TypeAlias = Callable[[Any], None]

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


class _Connection(HTTPConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's business
        super().request(*args, **kwargs)
        _tell(self)


class _SecureConnection(HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's business
        super().request(*args, **kwargs)
        _tell(self)


def _tell(connection: HTTPConnection) -> None:
    hears = _hears.get()
    if hears is not None:
        hears(connection.sock)


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_POOLS: Final[dict[str, Any]] = {"http": _Pool, "https": _SecurePool}
