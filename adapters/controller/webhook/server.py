"""The HTTPS server that the API server asks."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeAlias

from treenail.adapters.controller.serving.channel import Channel, Tls, server_context
from treenail.adapters.controller.serving.exchange import Answer, Request
from treenail.adapters.controller.serving.limits import Limits
from treenail.adapters.controller.serving.losses import Lost
from treenail.adapters.controller.serving.served_port import ServedPort
from treenail.adapters.controller.webhook.certificates import Certificate
from treenail.adapters.controller.webhook.review import NotAReviewError

PATH: Final = "/convert"
# What the API server sends is at most a page of objects, of 1.5 MiB each at the very most.
LARGEST_BODY: Final = 32 * 1024 * 1024
# Idle connections are kept for longer than Go's clients keep them, so that these close them and never find
# them closed. A handshake costs more than a page, and its time where processors are busy.
WEBHOOK_LIMITS: Final = Limits(
    connections=128,
    connections_of_source=96,
    connections_per_second=400.0,
    grace=1.0,
    idle=120.0,
    body_bytes=LARGEST_BODY,
)
_JSON: Final = "application/json"

Reviews: TypeAlias = Callable[[bytes], bytes]


class ConversionServer:
    """Answers conversions at `PATH` until `stop`. Port 0 is one that is free.

    `answer` is `review.answer`: it is called once at a time, whoever asks. `present` gives the certificate;
    before that, connections are closed at once. `failed` gets unexpected exceptions, `lost` of
    connections that had to be closed.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        port: int,
        answer: Reviews,
        *,
        failed: Callable[[BaseException], None],
        lost: Lost,
        limits: Limits = WEBHOOK_LIMITS,
    ) -> None:
        self._context: ssl.SSLContext | None = None
        self._served = ServedPort(port, _Conversions(answer), self._channel, limits, failed=failed, lost=lost)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._served.port

    def present(self, certificate: Certificate) -> None:
        """Show `certificate` to all who connect from now on."""
        self._context = server_context(certificate.key + certificate.pem)

    def stop(self) -> None:
        """Serve no more, and end the connections that are open."""
        self._served.stop()

    def _channel(self) -> Channel | None:
        context = self._context
        return Tls(context) if context is not None else None


class _Conversions:
    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    def answer(self, request: Request, /) -> Answer:
        """Answer a review that is posted."""
        if request.method != "POST":
            return self.refuse(HTTPStatus.NOT_IMPLEMENTED, "reviews are posted")
        if request.path != PATH:
            return self.refuse(HTTPStatus.NOT_FOUND, f"there is nothing but {PATH}")
        try:
            return Answer(self._reviews(request.body), content_type=_JSON)
        except NotAReviewError as error:
            return self.refuse(HTTPStatus.BAD_REQUEST, str(error))

    def refuse(self, status: HTTPStatus, message: str, /) -> Answer:
        """Return a refusal as a Status, which the API server shows."""
        said = {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "reason": status.phrase.replace(" ", ""),
            "code": status.value,
            "message": message,
        }
        return Answer(json.dumps(said).encode(), status, _JSON)
