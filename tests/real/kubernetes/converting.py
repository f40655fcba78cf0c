"""The conversion that definitions of several versions ask for, for modules of tests that need no more of it.

The webhook itself keeps connections, and a thread for each, from one test to the next.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from tests.real.kubernetes.definitions import CRDS, ok
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.api.schema.catalogue import DEFINITIONS
from treenail.adapters.controller.webhook.review import answer


class _Handler(BaseHTTPRequestHandler):
    """Answers one review a connection: one thread serves all."""

    def do_POST(self) -> None:
        body = answer(self.rfile.read(int(self.headers["Content-Length"])), _fail)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each call."""


def _fail(defect: Exception) -> None:
    raise defect


@contextmanager
def converting(server: ControlPlane) -> Iterator[None]:
    """Serve conversion, under the certificate of the API server itself, and tell the definitions of it."""
    serving = HTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.certificate.with_suffix(".key"))
    serving.socket = context.wrap_socket(serving.socket, server_side=True)
    thread = Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    client = {
        "service": None,
        "url": f"https://127.0.0.1:{serving.server_port}/convert",
        "caBundle": base64.b64encode(server.certificate.read_bytes()).decode(),
    }
    try:
        for definition in DEFINITIONS:
            if len(definition.versions) > 1:
                change = {"spec": {"conversion": {"webhook": {"clientConfig": client}}}}
                ok(server.request("PATCH", f"{CRDS}/{definition.name}", change, MERGE))
        yield
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()
