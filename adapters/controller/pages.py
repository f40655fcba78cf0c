"""Small HTTP servers for those who look after the process: probes and metrics."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeAlias

from treenail.adapters.settings.said import SettingError

_PLAIN = "text/plain; charset=utf-8"
# A client that sends nothing is not waited for longer.
_READ_SECONDS = 10.0
# What the kernel says where it has no IPv6, or has it switched off.
_NO_IPV6 = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})


@dataclass(frozen=True, slots=True)
class Page:
    """What a path answers."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = _PLAIN

    @classmethod
    def check(cls, troubles: list[str]) -> Page:
        """Return the answer of a probe: "ok", or what is wrong."""
        if not troubles:
            return cls(b"ok\n")
        return cls(("\n".join(troubles) + "\n").encode(), HTTPStatus.SERVICE_UNAVAILABLE)


Pages: TypeAlias = Mapping[str, Callable[[], Page]]


class PageServer:
    """Serves `pages`, by path, on all addresses, IPv6 and IPv4, until `stop`. Port 0 is one that is free.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, port: int, pages: Pages) -> None:
        self._server = _listen(port, _handler(pages))
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="pages", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.server_port

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """Listens on IPv4 alone."""

    daemon_threads = True


class _DualServer(_Server):
    """Listens on IPv6 and IPv4: a pod has one of them, or both."""

    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        # What it is where nothing is said is for the machine's administrator to choose.
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def cannot_listen(variable: str, port: int, error: OSError) -> SettingError:
    """Return what to say of a port, set by `variable`, that cannot be listened on."""
    why = "address in use" if error.errno == errno.EADDRINUSE else error.strerror
    return SettingError(f"{variable}: {port} cannot be listened on: {why}")


def _listen(port: int, handler: type[BaseHTTPRequestHandler]) -> _Server:
    try:
        return _DualServer(("", port), handler)
    except OSError as error:
        if error.errno not in _NO_IPV6:
            raise
    return _Server(("", port), handler)


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET."""

        timeout = _READ_SECONDS

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            answer = page() if page is not None else Page(b"not found\n", HTTPStatus.NOT_FOUND)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Say nothing: probes come every few seconds."""

    return Handler
