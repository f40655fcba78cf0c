from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Iterator

import pytest

from treenail.adapters.controller.pages import Page, PageServer


def _ask(host: str, port: int) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=10.0)
    try:
        connection.request("GET", "/healthz")
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
def server() -> Iterator[PageServer]:
    server = PageServer(0, {"/healthz": lambda: Page.check([])})
    yield server
    server.stop()


def test_a_page_is_served_over_ipv4(server: PageServer) -> None:
    assert _ask("127.0.0.1", server.port) == (200, b"ok\n")


@pytest.mark.skipif(not _ipv6_is_there(), reason="this machine has no IPv6")
def test_a_page_is_served_over_ipv6(server: PageServer) -> None:
    assert _ask("::1", server.port) == (200, b"ok\n")


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_where_there_is_no_ipv6_a_page_is_served_over_ipv4(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no IPv6 here")

    monkeypatch.setattr("treenail.adapters.controller.pages._DualServer.server_bind", refuse)
    server = PageServer(0, {"/healthz": lambda: Page.check([])})
    try:
        assert _ask("127.0.0.1", server.port) == (200, b"ok\n")
    finally:
        server.stop()


def test_a_port_that_somebody_has_on_ipv4_alone_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))  # noqa: S104 (as another server would)
        other.listen()

        with pytest.raises(OSError, match="in use"):
            PageServer(other.getsockname()[1], {})
