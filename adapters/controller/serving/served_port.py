"""A port that others connect to, with limits: probes, metrics and the webhook are all served by it."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import Any, Final

from treenail.adapters.controller.serving.admission import closed_for, first_to_close, is_full
from treenail.adapters.controller.serving.channel import Channel
from treenail.adapters.controller.serving.connection import ServedConnection
from treenail.adapters.controller.serving.exchange import Answer, Request, Service
from treenail.adapters.controller.serving.limits import Limits, descriptors, source_of
from treenail.adapters.controller.serving.losses import Loss, Losses, Lost
from treenail.adapters.controller.serving.turns import Turns
from treenail.adapters.settings.sources import SettingError

# What the kernel says where it has no IPv6, or has it switched off.
_NO_IPV6: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
# Those let in go on between two groups of newcomers.
_AT_ONCE: Final = 8
# After the process ran out of descriptors, or of memory.
_PAUSE_SECONDS: Final = 0.1
# How soon it is looked again whether there is room.
_FULL_SECONDS: Final = 0.01
_END_SECONDS: Final = 2.0

_Task = tuple[ServedConnection, Request]


class ServedPort:
    """Serves `service` on all addresses, IPv6 and IPv4, until `stop`; with a `host` on that one alone.

    Port 0 is one that is free.

    `channel` makes the channel of a new connection; where it returns None, that is closed at once. `failed`
    gets unexpected exceptions, `lost` once a minute of connections that had to be closed.

    One thread has all connections: nobody's slowness is another's. Another answers, one request at a time:
    the interpreter has one processor, and more at a time would keep the actors from their turns.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        port: int,
        service: Service,
        channel: Callable[[], Channel | None],
        limits: Limits,
        *,
        failed: Callable[[BaseException], None],
        lost: Lost,
        host: str = "",
    ) -> None:
        self._service = service
        self._failed = failed
        self._listening = _listen(host, port, limits.queued_connections)
        self._turns: Turns[_Task] = Turns()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._unexpected)
        self._door = _Door(self._loop, self._listening, self._turns, service, channel, limits, lost)
        self._serving = Thread(target=self._serve, name=f"port-{self.port}", daemon=True)
        self._answering = Thread(target=self._answer, name=f"port-{self.port}-answers", daemon=True)
        self._serving.start()
        self._answering.start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listening.getsockname()[1])

    @property
    def host(self) -> str:
        """The address that is listened on; that of no host where it is all of them."""
        return str(self._listening.getsockname()[0])

    def stop(self) -> None:
        """Serve no more, and end the connections that are open."""
        self._turns.close()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._door.close)
        self._serving.join(_END_SECONDS)
        self._answering.join(_END_SECONDS)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._door.run())
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, never lost with the thread)
            self._failed(error)
        finally:
            self._listening.close()
            self._loop.close()

    def _answer(self) -> None:
        while (task := self._turns.take()) is not None:
            connection, request = task
            # Nobody waits for the answer any more.
            if connection.gone:
                continue
            answer = self._answer_to(request)
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(connection.answered, answer)

    def _answer_to(self, request: Request) -> Answer:
        try:
            return self._service.answer(request)
        except Exception as error:  # noqa: BLE001 (a defect: it is reported, never lost with the thread)
            self._failed(error)
            return self._service.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "a defect")

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report a defect; pass over connections that went away."""
        del loop
        error = context.get("exception")
        if error is not None and not isinstance(error, OSError):
            self._failed(error)


class _Door:
    """Lets connections in, and is the `Host` of those that are. All is called on the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        turns: Turns[_Task],
        service: Service,
        channel: Callable[[], Channel | None],
        limits: Limits,
        lost: Lost,
    ) -> None:
        self._loop = loop
        self._listening = listening
        self._turns = turns
        self._service = service
        self._channel = channel
        self._limits = limits.fitted(descriptors())
        self._tell_lost = lost
        self._losses = Losses()
        self._present: dict[ServedConnection, None] = {}
        # Those that may be sending more than there is room for.
        self._paused: dict[ServedConnection, None] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._arrived = 0
        self._admissible = float(self._limits.connections)
        self._counted_at = loop.time()
        self._end = asyncio.Event()

    async def run(self) -> None:
        """Serve until `close`."""
        self._loop.add_reader(self._listening, self._accept)
        await self._end.wait()
        self._loop.remove_reader(self._listening)
        for connection in tuple(self._present):
            connection.shed()
        await asyncio.gather(*self._opening, return_exceptions=True)
        # The transports close at the loop's next turn.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def close(self) -> None:
        """Serve no more."""
        self._end.set()

    # --- letting in

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            full = is_full(self._present, most=self._limits.connections, since=self._settled_since())
            wait = _FULL_SECONDS if full else self._until_next()
            if wait > 0:
                self._pause(wait)
                return
            try:
                sock, address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError:
                self.lost(Loss.NO_ROOM)
                self._pause(_PAUSE_SECONDS)
                return
            self._admissible -= 1
            self._admit(sock, source_of(address[0]))

    def _until_next(self) -> float:
        """Return the seconds until another may be let in."""
        limits, now = self._limits, self._loop.time()
        gained = (now - self._counted_at) * limits.connections_per_second
        self._admissible = min(float(limits.connections), self._admissible + gained)
        self._counted_at = now
        return max(0.0, (1.0 - self._admissible) / limits.connections_per_second)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if not self._end.is_set():
            self._loop.add_reader(self._listening, self._accept)

    def _admit(self, sock: socket.socket, source: str) -> None:
        channel = self._channel()
        if channel is None:
            sock.close()
            return
        limits = self._limits
        leaving = closed_for(
            source,
            self._present,
            most=limits.connections,
            most_of_source=limits.connections_of_source,
            since=self._settled_since(),
        )
        if leaving is not None:
            self._turn_out(leaving)
        self._arrived += 1
        connection = ServedConnection(
            self, self._service, channel, limits, source=source, number=self._arrived
        )
        self._present[connection] = None
        sock.settimeout(0)
        opening = self._loop.create_task(self._open(sock, connection))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def _settled_since(self) -> float:
        return self._loop.time() - self._limits.grace

    async def _open(self, sock: socket.socket, connection: ServedConnection) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, sock)
        except OSError:
            sock.close()
            connection.connection_lost(None)

    def _turn_out(self, connection: ServedConnection) -> None:
        self.lost(Loss.NO_ROOM)
        connection.shed()
        self._forget(connection)

    # --- as the host of connections

    def ask(self, connection: ServedConnection, request: Request, /) -> None:
        """Have a request answered when it is its source's turn."""
        self._turns.put(connection.source, (connection, request))

    def holds_more(self, connection: ServedConnection, /) -> None:
        """Keep what is held within its limit: the oldest that hold some leave, or this one waits."""
        while self._held() > self._limits.held_bytes:
            others = [each for each in self._present if each.held and each is not connection]
            leaving = first_to_close(others, since=self._settled_since())
            if leaving is None:
                self._paused[connection] = None
                connection.pause()
                return
            self._turn_out(leaving)

    def holds_less(self) -> None:
        """Go on with what waited for room."""
        if self._paused and self._held() <= self._limits.held_bytes:
            paused, self._paused = self._paused, {}
            for each in paused:
                each.resume()

    def lost(self, loss: Loss, /) -> None:
        """Count, and tell within a minute."""
        if self._losses.note(loss):
            self._loop.call_later(self._limits.told_every, lambda: self._tell_lost(self._losses.take()))

    def left(self, connection: ServedConnection, /) -> None:
        """Have room again."""
        self._forget(connection)

    def _forget(self, connection: ServedConnection) -> None:
        self._present.pop(connection, None)
        self._paused.pop(connection, None)
        self.holds_less()

    def _held(self) -> int:
        return sum(each.held for each in self._present)


def cannot_listen(variable: str, port: int, error: OSError) -> SettingError:
    """Return what to say of a port, set by `variable`, that cannot be listened on."""
    why = "address in use" if error.errno == errno.EADDRINUSE else error.strerror
    return SettingError(f"{variable}: {port} cannot be listened on: {why}")


def _listen(host: str, port: int, queued: int) -> socket.socket:
    if host:
        listening = socket.create_server((host, port), backlog=queued)
        listening.settimeout(0)
        return listening
    try:
        listening = socket.create_server(
            ("", port), family=socket.AF_INET6, backlog=queued, dualstack_ipv6=True
        )
    except (OSError, ValueError) as error:
        # A ValueError says that the two cannot be had together.
        if isinstance(error, OSError) and error.errno not in _NO_IPV6:
            raise
        listening = socket.create_server(("", port), backlog=queued)
    listening.settimeout(0)
    return listening
