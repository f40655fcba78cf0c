"""Limits of a served port: connections, deadlines and sizes."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace
from ipaddress import IPv6Address, ip_address
from typing import Final

# All served ports together leave most descriptors to the controller's own connections and files.
_SHARE_OF_DESCRIPTORS: Final = 8
_FEWEST: Final = 8
# A subscriber of IPv6 has a whole network, of this length at least.
_NETWORK_BITS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one port.

    Deadlines are in seconds, each for all of its step and not for one read: who sends a byte now and then
    gains nothing. `handshake` is for TLS, `head` for the request line and the headers, `body` for the body,
    `sending` for the answer to be taken, `lingering` for a client to read why it was refused. A connection
    is kept for `idle` seconds after an answer; with 0 it is closed after each. It is not closed for newcomers
    for `grace` seconds after it was first read from: they wait in the kernel's queue meanwhile, as do those
    beyond `connections_per_second`, which bounds what connecting anew can cost.

    `head_bytes` and `body_bytes` are the most of one request, `held_bytes` the most of all bodies and answers
    that are held for the port's connections at a time. What was closed is told of every `told_every` seconds.
    """

    connections: int = 64
    connections_of_source: int = 48
    connections_per_second: float = 1000.0
    queued_connections: int = 1024
    grace: float = 0.05
    handshake: float = 3.0
    head: float = 5.0
    body: float = 10.0
    sending: float = 10.0
    idle: float = 0.0
    lingering: float = 0.5
    head_bytes: int = 16 * 1024
    body_bytes: int = 0
    held_bytes: int = 64 * 1024 * 1024
    told_every: float = 60.0

    def fitted(self, descriptors: int) -> Limits:
        """Return these limits for a process that may have so many descriptors open."""
        most = max(_FEWEST, min(self.connections, descriptors // _SHARE_OF_DESCRIPTORS))
        return replace(
            self, connections=most, connections_of_source=min(self.connections_of_source, most - most // 4)
        )


def descriptors() -> int:
    """Return how many descriptors this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1_000_000


def source_of(host: str) -> str:
    """Return the key by which connections of one origin are counted: an IPv4 address or an IPv6 network."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS))
