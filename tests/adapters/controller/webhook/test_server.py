from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from treenail.adapters.controller.webhook.certificates import Certificate, issued, new_authority
from treenail.adapters.controller.webhook.review import NotAReviewError
from treenail.adapters.controller.webhook.server import LARGEST_BODY, PATH, ConversionServer

SECONDS = 20.0
NOW = datetime.now(UTC)
AUTHORITY = new_authority(NOW)
NAMES = ("127.0.0.1", "treenail.kube-system.svc")


def nobody(_: object) -> None:
    """Hear of nothing."""


def echo(body: bytes) -> bytes:
    if body == b"no review":
        raise NotAReviewError("this is no ConversionReview: really")
    return body


@pytest.fixture
def defects() -> list[BaseException]:
    return []


@pytest.fixture
def server(defects: list[BaseException]) -> Iterator[ConversionServer]:
    server = ConversionServer(0, echo, failed=defects.append, lost=nobody)
    server.present(issued(AUTHORITY, NAMES, NOW))
    yield server
    server.stop()
    assert defects == []


def connected(server: ConversionServer, *, trusting: Certificate = AUTHORITY) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cadata=trusting.pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=SECONDS, context=context)


def said(connection: http.client.HTTPSConnection) -> tuple[int, Any]:
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def asked(server: ConversionServer, body: bytes = b"{}", path: str = PATH, **headers: str) -> tuple[int, Any]:
    connection = connected(server)
    try:
        connection.request("POST", path, body, headers)
        return said(connection)
    finally:
        connection.close()


def test_what_is_posted_is_answered_many_times_over_one_connection(server: ConversionServer) -> None:
    connection = connected(server)

    for number in range(3):
        connection.request("POST", f"{PATH}?timeout=30s", json.dumps(number))
        assert said(connection) == (200, number)
    connection.close()


def test_large_ones_come_whole(server: ConversionServer) -> None:
    body = json.dumps(["x" * 1000] * 5000).encode()

    assert asked(server, body) == (200, json.loads(body))


@pytest.mark.parametrize(
    ("body", "path", "code", "message"),
    [
        (b"no review", PATH, 400, "this is no ConversionReview: really"),
        (b"{}", "/", 404, "there is nothing but /convert"),
    ],
)
def test_what_is_no_review_gets_a_status(
    server: ConversionServer, body: bytes, path: str, code: int, message: str
) -> None:
    status, answer = asked(server, body, path)

    assert status == answer["code"] == code
    assert (answer["kind"], answer["status"], answer["message"]) == ("Status", "Failure", message)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Length": str(LARGEST_BODY + 1)}, 413),
        ({"Content-Length": "9" * 5000}, 400),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": "many"}, 400),
        ({"Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_a_body_of_a_size_that_is_too_much_or_not_known_is_not_read(
    server: ConversionServer, headers: dict[str, str], code: int
) -> None:
    connection = connected(server)
    connection.putrequest("POST", PATH)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()

    status, answer = said(connection)

    assert status == answer["code"] == code
    assert connection.sock is None
    connection.close()


def test_other_methods_are_refused(server: ConversionServer) -> None:
    connection = connected(server)
    connection.request("GET", PATH)

    status, answer = said(connection)

    assert (status, answer["kind"]) == (501, "Status")
    connection.close()


def test_a_new_certificate_is_shown_to_all_who_connect_from_then_on(server: ConversionServer) -> None:
    kept = connected(server)
    kept.request("POST", PATH, b"1")
    assert said(kept) == (200, 1)
    authority = new_authority(NOW)

    server.present(issued(authority, NAMES, NOW))

    kept.request("POST", PATH, b"2")
    assert said(kept) == (200, 2)
    kept.close()
    fresh = connected(server, trusting=authority)
    fresh.request("POST", PATH, b"3")
    assert said(fresh) == (200, 3)
    fresh.close()
    with pytest.raises(ssl.SSLCertVerificationError):
        connected(server).request("POST", PATH, b"4")


def test_one_that_says_nothing_holds_up_nobody(server: ConversionServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert asked(server) == (200, {})


def test_200_that_say_nothing_keep_nobody_out(server: ConversionServer) -> None:
    with ExitStack() as held:
        for _ in range(200):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port)))

        assert [asked(server) for _ in range(3)] == [(200, {})] * 3


def test_one_that_speaks_no_tls_is_no_defect(server: ConversionServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        connection.settimeout(SECONDS)
        # An alert, and the end.
        with suppress(ConnectionResetError):
            while connection.recv(100):
                pass

    assert asked(server) == (200, {})


def test_without_a_certificate_nobody_is_served_yet() -> None:
    server = ConversionServer(0, echo, failed=nobody, lost=nobody)
    try:
        with pytest.raises(OSError, match=r".*"):
            asked(server)
    finally:
        server.stop()


def test_one_is_answered_at_a_time() -> None:
    inside, most, lock = [0], [0], threading.Lock()
    barrier = threading.Barrier(4)

    def slow(body: bytes) -> bytes:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.02)
        with lock:
            inside[0] -= 1
        return body

    server = ConversionServer(0, slow, failed=nobody, lost=nobody)
    server.present(issued(AUTHORITY, NAMES, NOW))

    def ask() -> None:
        barrier.wait(SECONDS)
        assert asked(server) == (200, {})

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    server.stop()

    assert most == [1]


def test_the_end_does_not_wait_for_connections_that_are_open(defects: list[BaseException]) -> None:
    server = ConversionServer(0, echo, failed=defects.append, lost=nobody)
    server.present(issued(AUTHORITY, NAMES, NOW))
    idle = connected(server)
    idle.request("POST", PATH, b"1")
    assert said(idle) == (200, 1)

    server.stop()

    assert defects == []
    idle.close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            ConversionServer(port, echo, failed=nobody, lost=nobody)
