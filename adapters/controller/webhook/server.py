"""The HTTPS server that the API server asks."""

from __future__ import annotations

import errno
import json
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final, TypeAlias

from treenail.adapters.controller.webhook.certificates import Certificate
from treenail.adapters.controller.webhook.review import NotAReviewError

PATH: Final = "/convert"
# What the API server sends is at most a page of objects, of 1.5 MiB each at the very most.
LARGEST_BODY: Final = 32 * 1024 * 1024
MOST_CONNECTIONS: Final = 128

_HANDSHAKE_SECONDS: Final = 10.0
_BODY_SECONDS: Final = 10.0
# Longer than Go's clients keep a connection idle, so that they close it and never find it closed.
_IDLE_SECONDS: Final = 120.0
_CHUNK: Final = 1024 * 1024
_LEAST_SECONDS: Final = 0.1
_DROP_SECONDS: Final = 0.5
# What the kernel says where it has no IPv6, or has it switched off.
_NO_IPV6: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})

Answer: TypeAlias = Callable[[bytes], bytes]


class ConversionServer:
    """Answers conversions at `PATH` on all addresses until `stop`. Port 0 is one that is free.

    `answer` is `review.answer`: it is called once at a time, whoever asks. `present` gives the certificate;
    before that, connections are closed at once. `failed` hears of exceptions that nobody expected.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, port: int, answer: Answer, *, failed: Callable[[BaseException], None]) -> None:
        self._server = _Server(_listen(port), answer, failed)
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="webhook", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def present(self, certificate: Certificate) -> None:
        """Show `certificate` to all who connect from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The interpreter reads files alone: this one is gone when it has.
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(certificate.key + certificate.pem)
            file.flush()
            context.load_cert_chain(file.name)
        self._server.context = context

    def stop(self) -> None:
        """Serve no more, and end the connections that are open."""
        self._server.shutdown()
        self._server.server_close()
        self._server.cut()
        self._thread.join()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=MOST_CONNECTIONS, dualstack_ipv6=True
        )
    except (OSError, ValueError) as error:
        # A ValueError says that the two cannot be had together.
        if isinstance(error, OSError) and error.errno not in _NO_IPV6:
            raise
    return socket.create_server(("", port), backlog=MOST_CONNECTIONS)


class _Server(ThreadingHTTPServer):
    """A thread for each connection. Its TLS is begun there, so that nobody's slowness is another's."""

    daemon_threads = True

    def __init__(
        self,
        listening: socket.socket,
        answer: Answer,
        failed: Callable[[BaseException], None],
    ) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_address = listening.getsockname()
        self.context: ssl.SSLContext | None = None
        self._answer = answer
        self._failed = failed
        # Conversions are work for the processor, of which the interpreter has one: more than one at a time
        # would only keep the actors from their turns.
        self._turn = Lock()
        self._lock = Lock()
        self._taken = 0
        self._open: set[ssl.SSLSocket] = set()
        self._cut = False

    def answer(self, body: bytes) -> bytes:
        """Answer one that asks, and then the next."""
        with self._turn:
            return self._answer(body)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ANN401 - as it is inherited
        """Take a connection only where there is a certificate, and room."""
        del request, client_address
        with self._lock:
            return self.context is not None and self._taken < MOST_CONNECTIONS

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as it is inherited
        """Serve a connection on a thread of its own."""
        with self._lock:
            self._taken += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as it is inherited
        """Serve a connection until it ends. This is what the thread does."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._taken -= 1

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as it is inherited
        """Begin TLS, and answer what is asked."""
        context = self.context
        if context is None:
            return
        request.settimeout(_HANDSHAKE_SECONDS)
        with context.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as secured:
            with self._lock:
                if self._cut:
                    return
                self._open.add(secured)
            try:
                secured.do_handshake()
                _Handler(secured, client_address, self)
            finally:
                with self._lock:
                    self._open.discard(secured)

    def cut(self) -> None:
        """End the connections that are open, and those about to be."""
        with self._lock:
            self._cut = True
            for each in self._open:
                with suppress(OSError):
                    # Not as TLS ends: its thread may be reading.
                    socket.socket.shutdown(each, socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as it is inherited
        """Pass over who went away, was too slow or spoke no TLS; report the rest."""
        del request, client_address
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self._failed(error)


class _Handler(BaseHTTPRequestHandler):
    """Answers POST, one after the other on one connection."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    # An answer is sent in one piece and at once: in two, the second would wait for word of the first.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        if self.path.partition("?")[0] != PATH:
            self.send_error(HTTPStatus.NOT_FOUND, f"there is nothing but {PATH}")
            return
        try:
            said = self.server.answer(body)
        except NotAReviewError as error:
            self._say(HTTPStatus.BAD_REQUEST, _status(HTTPStatus.BAD_REQUEST, str(error)))
        else:
            self._say(HTTPStatus.OK, said)

    def _body(self) -> bytes | None:
        """Return what was sent; None where that was refused, and the connection is over."""
        written = self.headers.get("Content-Length", "")
        if not (written.isascii() and written.isdigit()) or "Transfer-Encoding" in self.headers:
            self.send_error(HTTPStatus.LENGTH_REQUIRED, "Content-Length must say how much is sent")
            self._drop()
            return None
        # A number of many digits is not even read.
        length = int(written) if len(written) < len(str(LARGEST_BODY)) + 1 else LARGEST_BODY + 1
        if length > LARGEST_BODY:
            self.send_error(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST_BODY} bytes are not converted"
            )
            self._drop()
            return None
        return self._read(length)

    def _read(self, length: int) -> bytes | None:
        until = time.monotonic() + _BODY_SECONDS
        parts: list[bytes] = []
        left = length
        try:
            while left:
                self.connection.settimeout(max(_LEAST_SECONDS, until - time.monotonic()))
                part = self.rfile.read1(min(left, _CHUNK))
                parts.append(part)
                left -= len(part)
                if left and (not part or time.monotonic() > until):
                    self._late()
                    return None
        except TimeoutError:
            self._late()
            return None
        self.connection.settimeout(self.timeout)
        return b"".join(parts)

    def _drop(self) -> None:
        """Pass over what is being sent for a moment: who is cut off while it sends hears no answer."""
        until = time.monotonic() + _DROP_SECONDS
        self.connection.settimeout(_DROP_SECONDS)
        with suppress(OSError):
            while time.monotonic() < until and self.rfile.read1(_CHUNK):
                pass

    def _late(self) -> None:
        self.send_error(HTTPStatus.REQUEST_TIMEOUT, f"not all came within {_BODY_SECONDS:g} s")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse with a Status, which the API server shows, and end the connection."""
        status = HTTPStatus(code)
        self.close_connection = True
        self._say(status, _status(status, message or explain or status.phrase))

    def _say(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def version_string(self) -> str:
        """Tell nobody which interpreter this is."""
        return "treenail"

    def log_message(self, *_: object) -> None:
        """Say nothing: whoever asked gets the answer."""


def _status(status: HTTPStatus, message: str) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "reason": status.phrase.replace(" ", ""),
            "code": status.value,
            "message": message,
        }
    ).encode()
