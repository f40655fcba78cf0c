"""What a request to AWS is about, and how each of its services words an error."""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
App: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]

_SCOPE: Final = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")


@dataclass(frozen=True, slots=True)
class Call:
    """One request: "ec2", "CreateFleet", its region and its body."""

    service: str
    action: str
    region: str
    body: bytes
    json: bool

    @classmethod
    def of(cls, environ: Environ) -> Call:
        """Read a request; its body can be read again afterwards."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        region, service = scope.groups() if scope else ("", "")
        target = environ.get("HTTP_X_AMZ_TARGET")
        return cls(service, _action(environ, target, body), region, body, target is not None)


def _action(environ: Environ, target: str | None, body: bytes) -> str:
    if target:
        return target.rpartition(".")[2]
    form = parse_qs(body.decode(errors="replace"))
    return form.get("Action", [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"])[0]


def permission_of(call: str) -> str:
    """Return the action that allows a call such as "sqs:DeleteMessageBatch" or "eks:GET /clusters/lab"."""
    service, _, action = call.partition(":")
    if service == "eks" and action.startswith("GET /clusters/"):
        return "eks:DescribeCluster"
    if service == "arc-zonal-shift":
        return "arc-zonal-shift:GetManagedResource"
    return f"{service}:{action.removesuffix('Batch')}"


def answer(
    start: StartResponse, status: int, body: bytes, content: str, extra: Iterable[tuple[str, str]] = ()
) -> list[bytes]:
    """Send an answer as a whole."""
    headers = [("Content-Type", content), ("Content-Length", str(len(body))), *extra]
    known = {one.value: one.phrase for one in HTTPStatus}
    start(f"{status} {known.get(status, 'Unknown')}", headers)
    return [body]


def answer_json(start: StartResponse, value: object, status: int = 200) -> list[bytes]:
    """Send a value as JSON."""
    return answer(start, status, json.dumps(value).encode(), "application/x-amz-json-1.1")


def refuse(start: StartResponse, call: Call, *, code: str, message: str, status: int) -> list[bytes]:
    """Send an error in the words of the service that was called."""
    if call.json or call.service in ("eks", "arc-zonal-shift"):
        body = json.dumps({"__type": code, "message": message}).encode()
        extra = (("x-amzn-ErrorType", code), ("x-amzn-query-error", f"{code};Sender"))
        return answer(start, status, body, "application/x-amz-json-1.0", extra)
    error = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    request_id = uuid.uuid4()
    if call.service == "ec2":
        errors = f"<Errors><Error>{error}</Error></Errors>"
        text = f"<Response>{errors}<RequestID>{request_id}</RequestID></Response>"
    else:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
            f"<RequestId>{request_id}</RequestId></ErrorResponse>"
        )
    return answer(start, status, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode(), "text/xml")
