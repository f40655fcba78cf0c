"""The conversion that definitions of several versions ask for, served to one API server."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from tests.real.kubernetes.definitions import CRDS, MERGE, ok
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.conversion.convert import converted
from treenail.adapters.api.conversion.errors import ConversionError
from treenail.adapters.api.schema.catalogue import DEFINITIONS


class _Handler(BaseHTTPRequestHandler):
    """Answers one review a connection: one thread serves all."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({**review, "request": None, "response": _answer(review["request"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each call."""


def _answer(request: Any) -> dict[str, Any]:
    to = request["desiredAPIVersion"].partition("/")[2]
    try:
        objects = [converted(one, to) for one in request["objects"]]
    except ConversionError as error:
        return {"uid": request["uid"], "result": {"status": "Failure", "message": str(error)}}
    return {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}


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
