"""One connection to a port: bytes become requests, one at a time, and each request gets its answer."""

from __future__ import annotations

import asyncio
import math
import ssl
from http import HTTPStatus
from typing import Final, Protocol, cast

import h11

from treenail.adapters.controller.serving.admission import Stage
from treenail.adapters.controller.serving.channel import Channel
from treenail.adapters.controller.serving.exchange import Answer, Request, Service
from treenail.adapters.controller.serving.limits import Limits
from treenail.adapters.controller.serving.losses import Loss

_LATE: Final = {
    Stage.HANDSHAKE: Loss.LATE_HANDSHAKE,
    Stage.HEAD: Loss.LATE_REQUEST,
    Stage.BODY: Loss.LATE_REQUEST,
    Stage.SENDING: Loss.LATE_READER,
}
# What h11 calls the states in which an answer may still be given.
_MAY_ANSWER: Final = (h11.IDLE, h11.SEND_RESPONSE)


class ConnectionHost(Protocol):
    """The port that a connection belongs to."""

    def ask(self, connection: ServedConnection, request: Request, /) -> None:
        """Have a request answered: `ServedConnection.answered` is called with the answer."""

    def holds_more(self, connection: ServedConnection, /) -> None:
        """Take note that a connection holds more bytes. It may be told to `pause`, or others to leave."""

    def holds_less(self) -> None:
        """Take note that a connection holds fewer bytes."""

    def lost(self, loss: Loss, /) -> None:
        """Count a connection that is closed for what its client does."""

    def left(self, connection: ServedConnection, /) -> None:
        """Take note that a connection is closed."""


class ServedConnection(asyncio.Protocol):
    """Implements `admission.Standing`. All is called on the thread of the port's loop.

    `held` counts the bytes of the request's body, and then of the answer. `gone` may be read by any thread.
    """

    def __init__(
        self,
        host: ConnectionHost,
        service: Service,
        channel: Channel,
        limits: Limits,
        *,
        source: str,
        number: int,
    ) -> None:
        self.source = source
        self.number = number
        self.held = 0
        self.gone = False
        self._host = host
        self._service = service
        self._channel = channel
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self._request: h11.Request | None = None
        self._body: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._clogged = False
        self._paused = False
        self._ended = False
        self._deadline: asyncio.TimerHandle | None = None
        # Until it was read once. A slow turn of the loop would else use up its time with the request unread.
        self.since = math.inf
        self.stage = Stage.HEAD if channel.established else Stage.HANDSHAKE
        self._arm()

    # --- what the port does

    def shed(self) -> None:
        """Close at once, whatever is under way."""
        self.gone = True
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Read no more until `resume`."""
        if self._transport is not None and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None and self._paused and not self.gone:
            self._paused = False
            self._transport.resume_reading()

    def answered(self, answer: Answer) -> None:
        """Send what the service answers."""
        if not self.gone:
            self._send(answer, stays=self._limits.idle > 0)

    # --- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        # To be told when all is taken.
        self._transport.set_write_buffer_limits(high=0)
        if self.gone:
            self._transport.abort()
        # At the loop's next turn the socket is looked at for the first time, after what was called soon.
        self._loop.call_soon(self._loop.call_soon, self._read_once)

    def data_received(self, data: bytes) -> None:
        """Take bytes in."""
        if self.gone or self.stage is Stage.LINGERING:
            return
        try:
            plain = self._channel.opened(data)
        except ssl.SSLError:
            self._flush()
            self._lose(Loss.NO_TLS)
            return
        self._flush()
        if self.stage is Stage.HANDSHAKE and self._channel.established:
            self._enter(Stage.HEAD)
        if plain:
            self._take(plain)
        if self._channel.ended:
            self.eof_received()

    def eof_received(self) -> bool:
        """Note that the client sends no more. A client that waits for its answer still gets it."""
        self._ended = True
        if self.stage in (Stage.WAITING, Stage.SENDING):
            return True
        self.shed()
        return False

    def pause_writing(self) -> None:
        """Take note that not all is taken yet."""
        self._clogged = True

    def resume_writing(self) -> None:
        """Take note that all is taken."""
        self._clogged = False
        if self.stage is Stage.SENDING:
            self._sent()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        del error
        self.gone = True
        self.held = 0
        self._body.clear()
        if self._deadline is not None:
            self._deadline.cancel()
        self._host.left(self)

    def _read_once(self) -> None:
        """Take note that what the client had sent by now was read."""
        self.since = min(self.since, self._loop.time())

    # --- a request

    def _take(self, plain: bytes) -> None:
        if self.stage is Stage.IDLE:
            self._enter(Stage.HEAD, anew=True)
        self._http.receive_data(plain)
        if self.stage in (Stage.HEAD, Stage.BODY):
            self._advance()
        else:
            # The next request comes before the answer to this one: it is kept, and no more is read.
            self.pause()

    def _advance(self) -> None:
        while self.stage in (Stage.HEAD, Stage.BODY) and not self.gone:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._host.lost(Loss.NO_REQUEST)
                self._refuse(HTTPStatus(error.error_status_hint), str(error))
                return
            if isinstance(event, h11.Request):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._keep(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                self._complete()
            elif isinstance(event, h11.ConnectionClosed):
                self.shed()
            else:
                # All that was sent ahead is taken: what comes next is read, where there is room for it.
                self.resume()
                self._host.holds_more(self)
                return

    def _begin(self, request: h11.Request) -> None:
        self._request = request
        headers = dict(request.headers)
        if request.method == b"CONNECT":
            self._host.lost(Loss.NO_REQUEST)
            self._refuse(HTTPStatus.NOT_IMPLEMENTED, "this is no proxy")
            return
        if b"transfer-encoding" in headers:
            self._host.lost(Loss.NO_REQUEST)
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "Content-Length must say how much is sent")
            return
        if int(headers.get(b"content-length", b"0")) > self._limits.body_bytes:
            self._host.lost(Loss.TOO_LARGE)
            most = self._limits.body_bytes
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {most} bytes are not taken")
            return
        if self._http.they_are_waiting_for_100_continue:
            self._write(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[]))
        self._enter(Stage.BODY)

    def _keep(self, data: bytes) -> None:
        self._body.append(data)
        self.held += len(data)
        self._host.holds_more(self)

    def _complete(self) -> None:
        if self._request is None:
            raise AssertionError("a request's end came before its beginning")
        self._enter(Stage.WAITING)
        target = self._request.target.decode("latin-1")
        body = b"".join(self._body)
        self._body.clear()
        method = self._request.method.decode("ascii")
        self._host.ask(self, Request(method=method, path=target.partition("?")[0], body=body))

    # --- its answer

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer with the reason for the refusal, and close."""
        if self._http.our_state not in _MAY_ANSWER:
            self.shed()
            return
        self._send(self._service.refuse(status, message), stays=False)

    def _send(self, answer: Answer, *, stays: bool) -> None:
        # The rest of a refused request is neither waited for nor read.
        if self.stage is not Stage.WAITING:
            self.pause()
        headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body)))]
        if not stays:
            headers.append(("Connection", "close"))
        of_head = self._request is not None and self._request.method == b"HEAD"
        self._body.clear()
        self.held = len(answer.body)
        self._enter(Stage.SENDING, anew=True)
        self._write(
            h11.Response(status_code=answer.status, headers=headers, reason=answer.status.phrase),
            *(() if of_head else (h11.Data(data=answer.body),)),
            h11.EndOfMessage(),
        )
        self._host.holds_more(self)
        if not self._clogged and not self.gone:
            self._sent()

    def _sent(self) -> None:
        """Wait for the next request, or for the end."""
        self.held = 0
        self._host.holds_less()
        self._request = None
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            self._part()
            return
        self._http.start_next_cycle()
        more, _ = self._http.trailing_data
        self._enter(Stage.HEAD if more else Stage.IDLE, anew=True)
        if self._ended and not more:
            self._part()
            return
        # What was sent ahead is taken first: it would else grow with each answer.
        if not more:
            self.resume()
        self._advance()

    def _part(self) -> None:
        """Close. A client that still sends has a moment to read why: it would hear of the end alone."""
        still_sends = self._http.their_state in (h11.SEND_BODY, h11.ERROR)
        self._enter(Stage.LINGERING)
        self._channel.close()
        self._flush()
        if self._transport is not None and not still_sends:
            self._transport.close()

    def _write(self, *events: h11.Event) -> None:
        try:
            for event in events:
                data = self._http.send(event)
                if data:
                    self._channel.sealed(data)
        except h11.LocalProtocolError:
            # A request to which HTTP has no such answer costs its connection, never the process.
            self._lose(Loss.NO_REQUEST)
            return
        self._flush()

    def _flush(self) -> None:
        out = self._channel.outgoing()
        if out and self._transport is not None and not self.gone:
            self._transport.write(out)

    # --- deadlines

    def _enter(self, stage: Stage, *, anew: bool = False) -> None:
        self.stage = stage
        if anew:
            self.since = self._loop.time()
        self._arm()

    def _arm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        limits = self._limits
        seconds = {
            Stage.HANDSHAKE: limits.handshake,
            Stage.HEAD: limits.head,
            Stage.BODY: limits.body,
            Stage.SENDING: limits.sending,
            Stage.IDLE: limits.idle,
            Stage.LINGERING: limits.lingering,
        }.get(self.stage)
        self._deadline = None if seconds is None else self._loop.call_later(seconds, self._late)

    def _late(self) -> None:
        stage, loss = self.stage, _LATE.get(self.stage)
        if loss is None:
            self.shed()
        elif stage in (Stage.HEAD, Stage.BODY):
            self._host.lost(loss)
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "not all of the request came in time")
        else:
            self._lose(loss)

    def _lose(self, loss: Loss) -> None:
        self._host.lost(loss)
        self.shed()
