from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from http import HTTPStatus

import pytest

from tests.adapters.controller.serving.clients import (
    HOST,
    asked,
    certificate,
    connected,
    dripped,
    heard,
    open_ones,
    opened,
    secured,
    silent,
)
from treenail.adapters.controller.serving.channel import Channel, Plain, Tls, server_context
from treenail.adapters.controller.serving.exchange import Answer, Request
from treenail.adapters.controller.serving.limits import Limits
from treenail.adapters.controller.serving.losses import Loss
from treenail.adapters.controller.serving.served_port import ServedPort

SECONDS = 20.0
# More than any test here takes, where a test does not set them.
LIMITS = Limits(
    connections=16,
    connections_of_source=12,
    grace=0.0,
    handshake=SECONDS,
    head=SECONDS,
    body=SECONDS,
    sending=SECONDS,
    idle=SECONDS,
    body_bytes=1024 * 1024,
    told_every=0.01,
)
OTHERS = tuple(f"127.0.0.{n}" for n in range(2, 10))
LARGE = b"x" * (16 * 1024 * 1024)


class Echo:
    """Answers a body with itself; a GET with the path. `hold` keeps it from answering until it is set."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.hold.set()
        self.asked = threading.Semaphore(0)

    def answer(self, request: Request, /) -> Answer:
        self.asked.release()
        assert self.hold.wait(SECONDS)
        if request.path == "/defect":
            raise KeyError(request.path)
        if request.path == "/large":
            return Answer(LARGE)
        return Answer(request.body or request.path.encode())

    def refuse(self, status: HTTPStatus, message: str, /) -> Answer:
        return Answer(message.encode(), status)


class Losses:
    """What a port tells of connections it closed."""

    def __init__(self) -> None:
        self.told: list[Mapping[Loss, int]] = []
        self._changed = threading.Condition()

    def __call__(self, losses: Mapping[Loss, int]) -> None:
        with self._changed:
            self.told.append(losses)
            self._changed.notify_all()

    def wait_for(self, loss: Loss, count: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.of(loss) >= count, SECONDS), self.told

    def of(self, loss: Loss) -> int:
        return sum(losses.get(loss, 0) for losses in self.told)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def losses() -> Losses:
    return Losses()


@pytest.fixture
def defects() -> list[BaseException]:
    return []


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


Serve = Callable[..., int]


@pytest.fixture
def serve(echo: Echo, losses: Losses, defects: list[BaseException]) -> Iterator[Serve]:
    """Serve with limits of a test's own, and return the port."""
    ports: list[ServedPort] = []
    shown = certificate()
    context = server_context(shown.key + shown.pem)

    def begin(*, tls: bool = False, gate: threading.Event | None = None, **limits: float) -> int:
        def channel() -> Channel:
            assert gate is None or gate.wait(SECONDS)
            return Tls(context) if tls else Plain()

        served = ServedPort(
            0,
            echo,
            channel,
            replace(LIMITS, **limits),  # type: ignore[arg-type]
            failed=defects.append,
            lost=losses,
        )
        ports.append(served)
        return served.port

    yield begin
    for served in ports:
        served.stop()
    assert [defect for defect in defects if not isinstance(defect, KeyError)] == []


def send_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(LARGE)


both = pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])


# --- room


@both
@pytest.mark.parametrize("sources", [(HOST,), OTHERS], ids=["one source", "eight sources"])
def test_silent_connections_keep_nobody_out(
    serve: Serve, losses: Losses, held: ExitStack, sources: tuple[str, ...], *, tls: bool
) -> None:
    port = serve(tls=tls)
    clients = silent(port, 100, held, sources=sources)

    assert [asked(port, tls=tls, path="/here") for _ in range(3)] == [(200, b"/here")] * 3

    losses.wait_for(Loss.NO_ROOM, 100 - LIMITS.connections)
    assert open_ones(clients) <= LIMITS.connections


def test_connections_that_went_through_the_handshake_and_say_nothing_keep_nobody_out(
    serve: Serve, held: ExitStack
) -> None:
    port = serve(tls=True)
    for _ in range(40):
        held.enter_context(secured(port))

    assert asked(port, tls=True, path="/here") == (200, b"/here")


@both
def test_connections_that_asked_once_and_stay_keep_nobody_out(
    serve: Serve, held: ExitStack, *, tls: bool
) -> None:
    port = serve(tls=tls)
    for _ in range(40):
        client = held.enter_context(secured(port) if tls else opened(port))
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")

    assert [asked(port, tls=tls, path="/here") for _ in range(3)] == [(200, b"/here")] * 3


@both
def test_a_connection_in_use_goes_on_while_silent_ones_come(
    serve: Serve, held: ExitStack, *, tls: bool
) -> None:
    port = serve(tls=tls)
    kept = connected(port, tls=tls)
    for _ in range(5):
        kept.request("GET", "/kept")
        assert kept.getresponse().read() == b"/kept"
        silent(port, 30, held)
    # The same connection all the time.
    assert kept.sock is not None
    kept.close()


def test_clients_that_are_being_answered_are_not_closed_for_newcomers(
    serve: Serve, echo: Echo, held: ExitStack
) -> None:
    port = serve(grace=SECONDS)
    echo.hold.clear()
    clients = [held.enter_context(opened(port)) for _ in range(20)]
    for number, client in enumerate(clients):
        client.sendall(f"GET /{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert echo.asked.acquire(timeout=SECONDS)

    echo.hold.set()

    # Those for whom there was no room waited outside.
    for number, client in enumerate(clients):
        assert heard(client).endswith(f"/{number}".encode())


def test_a_request_that_came_with_its_connection_is_read_before_that_makes_room(
    serve: Serve, losses: Losses, held: ExitStack
) -> None:
    # The port's loop stands still meanwhile, so that it finds all of them at once, as in a slow turn.
    gate = threading.Event()
    port = serve(gate=gate)
    clients = [held.enter_context(opened(port)) for _ in range(3 * LIMITS.connections)]
    for number, client in enumerate(clients):
        client.sendall(f"GET /{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    gate.set()

    for number, client in enumerate(clients):
        assert client.recv(65536).endswith(f"/{number}".encode())
    losses.wait_for(Loss.NO_ROOM, 2 * LIMITS.connections)


@both
def test_a_burst_of_newcomers_keeps_nobody_out(serve: Serve, *, tls: bool) -> None:
    port = serve(tls=tls)
    for _ in range(1000):
        opened(port).close()

    assert asked(port, tls=tls, path="/here") == (200, b"/here")


# --- deadlines


def test_a_handshake_that_drips_ends_at_its_deadline(serve: Serve, losses: Losses, held: ExitStack) -> None:
    port = serve(tls=True, handshake=0.2)
    # A record of a handshake, 8 KiB long.
    assert dripped(held.enter_context(opened(port)), b"\x16\x03\x01\x20\x00" + b"\x01" * 8192) == b""
    losses.wait_for(Loss.LATE_HANDSHAKE)


@both
@pytest.mark.parametrize(
    ("begun", "limits"),
    [
        (b"", {"head": 0.2}),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", {"body": 0.2}),
    ],
    ids=["head", "body"],
)
def test_a_request_that_drips_ends_at_its_deadline(
    serve: Serve, losses: Losses, held: ExitStack, begun: bytes, limits: dict[str, float], *, tls: bool
) -> None:
    port = serve(tls=tls, **limits)
    client = held.enter_context(secured(port) if tls else opened(port))
    client.sendall(begun)

    said = dripped(client, b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 1000)

    assert said.startswith(b"HTTP/1.1 408") or said == b""
    losses.wait_for(Loss.LATE_REQUEST)


@both
def test_one_that_says_nothing_is_closed_at_the_deadline(serve: Serve, held: ExitStack, *, tls: bool) -> None:
    port = serve(tls=tls, handshake=0.1, head=0.1)

    heard(held.enter_context(opened(port)))


@both
def test_an_answer_that_is_not_read_is_given_up_at_its_deadline(
    serve: Serve, losses: Losses, held: ExitStack, *, tls: bool
) -> None:
    port = serve(tls=tls, sending=0.2)
    client = held.enter_context(secured(port) if tls else opened(port))
    client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")

    losses.wait_for(Loss.LATE_READER)

    assert len(heard(client)) < len(LARGE)
    assert asked(port, tls=tls, path="/here") == (200, b"/here")


@both
def test_an_idle_connection_is_closed_at_its_deadline(serve: Serve, held: ExitStack, *, tls: bool) -> None:
    port = serve(tls=tls, idle=0.1)
    client = held.enter_context(secured(port) if tls else opened(port))
    client.sendall(b"GET /once HTTP/1.1\r\nHost: x\r\n\r\n")

    assert heard(client).endswith(b"/once")


# --- size


@both
@pytest.mark.parametrize(
    ("request_line", "repeated", "status"),
    [
        (b"GET /", b"x" * 1000, b"431"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X: y\r\n" * 1000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000, b"411"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", b"x" * 1000, b"413"),
    ],
    ids=["path", "headers", "chunks", "body"],
)
def test_one_that_sends_without_end_is_refused(
    serve: Serve, held: ExitStack, request_line: bytes, repeated: bytes, status: bytes, *, tls: bool
) -> None:
    port = serve(tls=tls)
    client = held.enter_context(secured(port) if tls else opened(port))
    with suppress(OSError):
        client.sendall(request_line)
        for _ in range(30):
            client.sendall(repeated)

    assert heard(client).startswith(b"HTTP/1.1 " + status)
    assert asked(port, tls=tls, path="/here") == (200, b"/here")


def test_one_that_is_refused_and_sends_on_is_cut_off(serve: Serve, held: ExitStack) -> None:
    port = serve(lingering=0.1)
    client = held.enter_context(opened(port))
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
    with pytest.raises(ConnectionError):
        send_without_end(client)


def test_where_bodies_take_all_the_room_the_oldest_unfinished_one_leaves(
    serve: Serve, losses: Losses, held: ExitStack
) -> None:
    port = serve(held_bytes=1000)
    old = held.enter_context(opened(port))
    old.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + b"x" * 600)
    # The port has read that, as this came later.
    assert asked(port) == (200, b"/")

    assert asked(port, body=b"y" * 800) == (200, b"y" * 800)

    losses.wait_for(Loss.NO_ROOM)
    assert heard(old) == b""


# --- order


@both
def test_requests_sent_ahead_are_answered_in_order(serve: Serve, held: ExitStack, *, tls: bool) -> None:
    port = serve(tls=tls)
    client = held.enter_context(secured(port) if tls else opened(port))
    ahead = b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(50))

    client.sendall(ahead + b"GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    said = heard(client)
    assert [part[-2:].strip(b"/") for part in said.split(b"HTTP/1.1 200 ")[1:-1]] == [
        b"%d" % n for n in range(50)
    ]
    assert said.endswith(b"/end")


def test_no_request_is_a_defect(serve: Serve, held: ExitStack) -> None:
    port = serve()
    for method in (b"CONNECT", b"HEAD", b"OPTIONS", b"PRI"):
        for header in (
            b"Connection: upgrade\r\nUpgrade: h2c",
            b"Transfer-Encoding: chunked",
            b"Expect: 100-continue",
        ):
            client = held.enter_context(opened(port))
            client.sendall(method + b" x:1 HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n" * 2)
            client.shutdown(socket.SHUT_WR)
            assert heard(client).startswith(b"HTTP/1.1 ")

    assert asked(port, path="/here") == (200, b"/here")


def test_a_source_that_asks_much_does_not_keep_another_from_its_turn(
    serve: Serve, echo: Echo, held: ExitStack
) -> None:
    port = serve()
    echo.hold.clear()
    rogues = [held.enter_context(opened(port)) for _ in range(8)]
    for rogue in rogues:
        rogue.sendall(b"GET /rogue HTTP/1.1\r\nHost: x\r\n\r\n")
    assert echo.asked.acquire(timeout=SECONDS)
    other = held.enter_context(opened(port, source=OTHERS[0]))
    other.sendall(b"GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    done: list[bytes] = []
    reader = threading.Thread(target=lambda: done.append(heard(other)))
    reader.start()

    echo.hold.set()

    reader.join(SECONDS)
    assert done[0].endswith(b"/other")


# --- what makes no sense


def test_one_that_speaks_no_tls_is_counted(serve: Serve, losses: Losses, held: ExitStack) -> None:
    port = serve(tls=True)
    client = held.enter_context(opened(port))
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    heard(client)

    losses.wait_for(Loss.NO_TLS)


@both
def test_what_is_no_request_is_refused(serve: Serve, losses: Losses, held: ExitStack, *, tls: bool) -> None:
    port = serve(tls=tls)
    client = held.enter_context(secured(port) if tls else opened(port))
    client.sendall(b"\x00\x01\x02 nonsense\r\n\r\n")

    assert heard(client).startswith(b"HTTP/1.1 400")
    losses.wait_for(Loss.NO_REQUEST)


def test_a_client_that_sends_no_more_still_gets_its_answer(serve: Serve, echo: Echo, held: ExitStack) -> None:
    port = serve()
    echo.hold.clear()
    client = held.enter_context(opened(port))
    client.sendall(b"GET /half HTTP/1.1\r\nHost: x\r\n\r\n")
    assert echo.asked.acquire(timeout=SECONDS)
    client.shutdown(socket.SHUT_WR)
    echo.hold.set()

    assert heard(client).endswith(b"/half")


def test_one_that_waits_for_leave_to_send_its_body_gets_it(serve: Serve, held: ExitStack) -> None:
    port = serve()
    client = held.enter_context(opened(port))
    client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n")
    client.sendall(b"Content-Length: 2\r\n\r\n")

    assert client.recv(4096).startswith(b"HTTP/1.1 100")
    client.sendall(b"ok")
    assert heard(client).endswith(b"ok")


@both
def test_closed_connections_are_told_of_together(
    serve: Serve, losses: Losses, held: ExitStack, *, tls: bool
) -> None:
    port = serve(tls=tls, told_every=0.3)
    silent(port, 60, held)

    losses.wait_for(Loss.NO_ROOM, 60 - LIMITS.connections)

    assert len(losses.told) <= 2


def test_a_defect_is_reported_and_told(serve: Serve, defects: list[BaseException]) -> None:
    port = serve()

    assert asked(port, path="/defect")[0] == 500
    assert [type(defect) for defect in defects] == [KeyError]


def test_the_end_waits_for_nobody(echo: Echo, held: ExitStack) -> None:
    served = ServedPort(0, echo, Plain, LIMITS, failed=print, lost=print)
    silent(served.port, 5, held)
    slow = held.enter_context(opened(served.port))
    slow.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    assert echo.asked.acquire(timeout=SECONDS)

    served.stop()

    heard(slow)
