"""The loopback address: free ports, and whether a server there answers."""

from __future__ import annotations

import random
import socket
import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

ADDRESS: Final = "127.0.0.1"
# Below the ports that the kernel gives to outgoing connections: none takes a port before its server does.
PATIENCE: Final = 2.0
PORTS: Final = range(20_000, 32_000)


def free_ports(count: int) -> tuple[int, ...]:
    """Return so many different ports that nobody listens on now."""
    dice, found = random.SystemRandom(), list[int]()
    while len(found) < count:
        port = dice.choice(PORTS)
        with socket.socket() as probe:
            if port not in found and probe.connect_ex((ADDRESS, port)) != 0:
                found.append(port)
    return tuple(found)


def answers(url: str) -> bool:
    """Say whether a GET of `url` is answered with 200. A certificate there is not looked at."""
    at = urlsplit(url)
    connection: HTTPConnection
    if at.scheme == "https":
        connection = HTTPSConnection(at.netloc, timeout=PATIENCE, context=_any_certificate())
    else:
        connection = HTTPConnection(at.netloc, timeout=PATIENCE)
    with closing(connection):
        try:
            connection.request("GET", at.path)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False


def _any_certificate() -> ssl.SSLContext:
    """Return what trusts anybody: a part makes its own certificate, and nothing is told to it here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
