from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import pytest

from tests.adapters.controller.serving.clients import open_ones
from treenail.adapters.controller.metrics_and_probes import PAGE_LIMITS, Page, serve_pages
from treenail.adapters.controller.profiling import LOOPBACK, profiling_pages
from treenail.adapters.controller.serving.served_port import ServedPort


def nobody(_: object) -> None:
    """Hear of nothing."""


def _ask(host: str, port: int, path: str = "/healthz") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=10.0)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _ipv6_is_there() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.fixture
def server() -> Iterator[ServedPort]:
    server = serve_pages(0, {"/healthz": lambda: Page.check([])}, failed=nobody, lost=nobody)
    yield server
    server.stop()


def test_a_page_is_served_over_ipv4(server: ServedPort) -> None:
    assert _ask("127.0.0.1", server.port) == (200, b"ok\n")


def test_of_200_that_say_nothing_most_are_closed_and_a_page_is_served(server: ServedPort) -> None:
    with ExitStack() as held:
        clients = [
            held.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(200)
        ]

        assert _ask("127.0.0.1", server.port) == (200, b"ok\n")

        assert open_ones(clients) <= PAGE_LIMITS.connections


@pytest.mark.skipif(not _ipv6_is_there(), reason="this machine has no IPv6")
def test_a_page_is_served_over_ipv6(server: ServedPort) -> None:
    assert _ask("::1", server.port) == (200, b"ok\n")


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_where_there_is_no_ipv6_a_page_is_served_over_ipv4(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = socket.create_server

    def without_ipv6(address: tuple[str, int], **how: Any) -> socket.socket:
        if how.get("family") == socket.AF_INET6:
            raise OSError(number, "no IPv6 here")
        return create(address, **how)

    monkeypatch.setattr(socket, "create_server", without_ipv6)
    server = serve_pages(0, {"/healthz": lambda: Page.check([])}, failed=nobody, lost=nobody)
    try:
        assert _ask("127.0.0.1", server.port) == (200, b"ok\n")
    finally:
        server.stop()


def test_profiles_are_served_on_the_loopback_address_alone() -> None:
    now = iter(range(1000))
    pages = profiling_pages(seconds=5, sleep=lambda _: None, monotonic=lambda: float(next(now)))
    server = serve_pages(0, pages, failed=nobody, lost=nobody, host=LOOPBACK)
    asleep = Event()
    sleeper = Thread(target=asleep.wait, name="sleeper", daemon=True)
    sleeper.start()
    try:
        assert server.host == "127.0.0.1"
        status, sampled = _ask("127.0.0.1", server.port, "/debug/pprof/profile")
        _, once = _ask("127.0.0.1", server.port, "/debug/pprof/threads")
    finally:
        asleep.set()
        server.stop()

    (line,) = [line for line in sampled.decode().splitlines() if line.startswith("sleeper;")]
    assert status == 200
    assert line.startswith("sleeper;threading.Thread._bootstrap")
    assert line.endswith(" 4")
    assert [one[-2:] for one in once.decode().splitlines() if one.startswith("sleeper;")] == [" 1"]


def test_a_port_that_somebody_has_on_ipv4_alone_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))  # noqa: S104 (as another server would)
        other.listen()

        with pytest.raises(OSError, match="in use"):
            serve_pages(other.getsockname()[1], {}, failed=nobody, lost=nobody)
