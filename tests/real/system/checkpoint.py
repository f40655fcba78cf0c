"""A way to the API server on which a test can stop one request, before it is carried out or after."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseServer
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from tests.real.parts.control_plane import ControlPlane

_LONGEST_STOP: Final = 60.0
_AT_ONCE: Final = 65_536
# What is between two neighbours alone, and not for the one behind.
_NOT_PASSED_ON: Final = frozenset({"connection", "host", "transfer-encoding", "content-length", "keep-alive"})


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

    def matches(self, method: str, path: str, body: bytes) -> bool:
        return (
            method == self.method
            and re.search(self.path, path) is not None
            and re.search(self.body, body.decode(errors="replace")) is not None
        )


@dataclass(slots=True)
class Stopping:
    """A stop in force, until it is reached and then over."""

    stop: Stop
    left: int
    taken: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class Checkpoint:
    """Passes requests on to the API server, as long as it is not told to stop one.

    One that was stopped is never answered, nor carried out if it was not yet: its sender is meant to be dead.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._tls = ssl.create_default_context(cafile=plane.certificate)
        far = urlsplit(plane.url)
        self._far = (far.hostname or "", far.port or 0)
        self._lock = threading.Lock()
        self._stopping: Stopping | None = None
        self._sockets: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Passage, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="checkpoint", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.end_all()

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig that leads this way, and return where it is."""
        config = json.loads(self._plane.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        file = folder / "kubeconfig"
        file.write_text(json.dumps(config))
        return file

    def stop_at(self, stop: Stop) -> threading.Event:
        """Stop the request that this tells of; the event is set when it has come."""
        stopping = Stopping(stop, stop.skip)
        with self._lock:
            self._stopping = stopping
        return stopping.reached

    def end_all(self) -> None:
        """End all connections, and what is stopped on them."""
        with self._lock:
            stopping, self._stopping = self._stopping, None
            sockets, self._sockets = self._sockets, set()
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        if stopping is not None:
            stopping.over.set()

    # --- one request

    def stopped(self, method: str, path: str, body: bytes) -> Stopping | None:
        """Return what this request is to be stopped for."""
        with self._lock:
            found = self._stopping
            if found is None or found.taken or not found.stop.matches(method, path, body):
                return None
            found.left -= 1
            found.taken = found.left < 0
            return found if found.taken else None

    def connect(self, near: socket.socket) -> HTTPSConnection:
        """Return a connection to the API server that ends when that of the controller, `near`, is ended."""
        far = HTTPSConnection(*self._far, context=self._tls)
        far.connect()
        with self._lock:
            self._sockets |= {near, far.sock}
        return far


class _Passage(BaseHTTPRequestHandler):
    """One connection of the controller's, and the one to the API server that goes with it."""

    protocol_version = "HTTP/1.1"

    def __init__(
        self, checkpoint: Checkpoint, request: socket.socket, client: tuple[str, int], server: BaseServer
    ) -> None:
        self._checkpoint = checkpoint
        self._far: HTTPSConnection | None = None
        super().__init__(request, client, server)

    def handle(self) -> None:
        with contextlib.suppress(OSError, HTTPException):
            super().handle()

    def finish(self) -> None:
        if self._far is not None:
            self._far.close()
        with contextlib.suppress(OSError):
            super().finish()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        stopping = self._checkpoint.stopped(self.command, self.path, body)
        if stopping is not None and not stopping.stop.done:
            self._stay(stopping)
            return
        if self._far is None or self._far.sock is None:
            self._far = self._checkpoint.connect(self.connection)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _NOT_PASSED_ON}
        self._far.request(self.command, self.path, body or None, headers)
        with self._far.getresponse() as answer:
            if stopping is None:
                self._answer(answer)
                return
            answer.read()
        self._stay(stopping)

    def _stay(self, stopping: Stopping) -> None:
        self.close_connection = True
        stopping.reached.set()
        stopping.over.wait(_LONGEST_STOP)

    def _answer(self, answer: HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        if answer.getheader("Transfer-Encoding") == "chunked":
            self._answer_in_pieces(answer)
            return
        data = answer.read()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer_in_pieces(self, answer: HTTPResponse) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(_AT_ONCE):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    # So the server calls the methods of HTTP.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing: the API server logs what matters."""
