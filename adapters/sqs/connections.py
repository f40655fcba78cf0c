"""An SQS client whose long polls can be cut short."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.config import Config

if TYPE_CHECKING:  # the types of clients are not there at run time
    import boto3
    from types_boto3_sqs.client import SQSClient

# Short, as a connection being made cannot be cut.
_CONNECT_SECONDS: Final = 1.5
# How much later than SQS itself we give a request up.
_SLACK_SECONDS: Final = 10


class Connections:
    """The open connections of a client. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: WeakSet[socket.socket] = WeakSet()
        self._cut = False

    def watch(self, client: SQSClient) -> None:
        """Know of every connection `client` opens from now on."""
        # Botocore has no door for this. Where it changes, stopping waits for an answer, and a test fails.
        pools = client._endpoint.http_session._pool_classes_by_scheme  # type: ignore[attr-defined]  # noqa: SLF001
        connections = self

        class Watched(AWSHTTPConnection):
            def connect(self) -> None:
                super().connect()
                connections._add(self.sock)

        class WatchedTls(AWSHTTPSConnection):
            def connect(self) -> None:
                super().connect()
                connections._add(self.sock)

        class Pool(AWSHTTPConnectionPool):
            ConnectionCls = Watched

        class TlsPool(AWSHTTPSConnectionPool):
            ConnectionCls = WatchedTls

        pools.update(http=Pool, https=TlsPool)

    def cut(self) -> None:
        """Break off all requests, and those that begin later."""
        with self._lock:
            self._cut = True
            opened = tuple(self._open)
        for one in opened:
            _shut(one)

    def _add(self, opened: socket.socket) -> None:
        with self._lock:
            self._open.add(opened)
            cut = self._cut
        if cut:
            _shut(opened)


def _shut(opened: socket.socket) -> None:
    # The plain socket's way: what TLS does beside it would disturb the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


def open_client(session: boto3.Session, *, wait_seconds: int) -> SQSClient:
    """Return a client that does not retry, of the session's region and endpoint. Nothing is called yet."""
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=wait_seconds + _SLACK_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent_extra="treenail",
    )
    make: Any = session.client
    client: SQSClient = make("sqs", config=config)
    return client
