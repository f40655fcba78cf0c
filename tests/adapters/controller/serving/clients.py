"""Clients of a port on this machine: one that means well, and some that do not."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Final

from treenail.adapters.controller.webhook.certificates import Certificate, issued, new_authority

SECONDS: Final = 20.0
HOST: Final = "127.0.0.1"
_NOW: Final = datetime.now(UTC)
AUTHORITY: Final = new_authority(_NOW)
_DRIP_SECONDS: Final = 0.02


def certificate() -> Certificate:
    return issued(AUTHORITY, (HOST,), _NOW)


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=AUTHORITY.pem.decode())


def opened(port: int, *, source: str = HOST) -> socket.socket:
    client = socket.create_connection((HOST, port), timeout=SECONDS, source_address=(source, 0))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def secured(port: int, *, source: str = HOST) -> ssl.SSLSocket:
    return trusting().wrap_socket(opened(port, source=source), server_hostname=HOST)


def connected(port: int, *, tls: bool) -> http.client.HTTPConnection:
    if tls:
        return http.client.HTTPSConnection(HOST, port, timeout=SECONDS, context=trusting())
    return http.client.HTTPConnection(HOST, port, timeout=SECONDS)


def asked(port: int, *, tls: bool = False, path: str = "/", body: bytes | None = None) -> tuple[int, bytes]:
    """Ask as one that means well, over a connection of its own."""
    connection = connected(port, tls=tls)
    try:
        connection.request("GET" if body is None else "POST", path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def silent(
    port: int, count: int, held: ExitStack, *, sources: tuple[str, ...] = (HOST,)
) -> list[socket.socket]:
    """Open so many connections that say nothing."""
    return [held.enter_context(opened(port, source=sources[n % len(sources)])) for n in range(count)]


def dripped(client: socket.socket, data: bytes) -> bytes:
    """Send byte by byte until there is an answer or an end; return what came."""
    client.settimeout(_DRIP_SECONDS)
    for byte in data:
        with suppress(TimeoutError):
            return heard(client, client.recv(1))
        try:
            client.send(bytes([byte]))
        except OSError:
            return b""
    raise AssertionError(f"it listened to all {len(data)} bytes")


def heard(client: socket.socket, so_far: bytes = b"") -> bytes:
    """Read to the end."""
    client.settimeout(SECONDS)
    with suppress(ConnectionError, ssl.SSLError):
        while part := client.recv(65536):
            so_far += part
    return so_far


def open_ones(clients: list[socket.socket]) -> int:
    """Return how many were not closed by the other side."""
    count = 0
    for client in clients:
        client.settimeout(0)
        try:
            count += bool(client.recv(1))
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count
