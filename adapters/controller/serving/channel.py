"""Channels: TLS, or nothing, between the bytes of a connection and HTTP."""

from __future__ import annotations

import ssl
import tempfile
from contextlib import suppress
from typing import Final, Protocol

_RECORD: Final = 16 * 1024


class Channel(Protocol):
    """Turns what comes over a connection into plain bytes, and back.

    `established` says that plain bytes may go both ways, `ended` that the other side sends no more. What
    `outgoing` returns is to be sent as it is, after each call of `opened`, `sealed` and `close`.
    """

    established: bool
    ended: bool

    def opened(self, data: bytes) -> bytes:
        """Return the plain bytes of what was received.

        Raises:
            ssl.SSLError: it is no TLS, or none that we speak.
        """
        ...

    def sealed(self, data: bytes) -> None:
        """Add plain bytes to the bytes to send."""

    def close(self) -> None:
        """Add the sign of the end, if the channel has one, to the bytes to send."""

    def outgoing(self) -> bytes:
        """Return the bytes to send, once."""
        ...


class Plain:
    """The channel of a port without TLS."""

    def __init__(self) -> None:
        self.established = True
        self.ended = False
        self._out = b""

    def opened(self, data: bytes) -> bytes:
        """Return `data`."""
        return data

    def sealed(self, data: bytes) -> None:
        """Add bytes."""
        self._out += data

    def close(self) -> None:
        """Send nothing: without TLS, closing the socket ends the connection."""

    def outgoing(self) -> bytes:
        """Return the bytes to send, once."""
        out, self._out = self._out, b""
        return out


class Tls:
    """The channel of a port with TLS: the server's side, with the certificate of `context`."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.established = False
        self.ended = False
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)

    def opened(self, data: bytes) -> bytes:
        """Go on with the handshake, or return what was decrypted."""
        self._in.write(data)
        parts: list[bytes] = []
        try:
            if not self.established:
                self._tls.do_handshake()
                self.established = True
            while part := self._tls.read(_RECORD):
                parts.append(part)
        except ssl.SSLWantReadError:
            return b"".join(parts)
        except ssl.SSLZeroReturnError:
            pass
        self.ended = True
        return b"".join(parts)

    def sealed(self, data: bytes) -> None:
        """Encrypt."""
        left = memoryview(data)
        while left:
            # One record at a time is written.
            left = left[self._tls.write(left) :]

    def close(self) -> None:
        """Send TLS's closing alert. The client's own alert is not waited for."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()

    def outgoing(self) -> bytes:
        """Return the bytes to send, once."""
        return self._out.read()


def server_context(certificate_and_key: bytes) -> ssl.SSLContext:
    """Return a context that presents this certificate, PEM with its key.

    Raises:
        ssl.SSLError: they do not belong together, or cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Both cost the server more than the client.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    # `load_cert_chain` reads only files; this one is deleted right after.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(certificate_and_key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
