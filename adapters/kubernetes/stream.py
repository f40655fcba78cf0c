"""A streamed answer: one line for each message of the server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Final

import urllib3

from treenail.adapters.kubernetes.sockets import hang_up
from treenail.domain.model.errors import UnavailableError

_READ_AT_ONCE: Final = 65_536


class Stream:
    """The lines of an answer, without their ends, as they come. Another thread may close it, at any time.

    It ends where the server ends it, and where it is closed; half a line at the end is left out.
    """

    def __init__(self, asked: str) -> None:
        self._asked = asked
        self._answer: urllib3.BaseHTTPResponse | None = None
        self._lock = threading.Lock()
        self._dialled: socket.socket | None = None
        self._socket: object = None
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines.

        Raises:
            UnavailableError: the connection broke, or nothing came for too long.
        """
        begun: list[bytes] = []
        for piece in self._pieces():
            first, *others = piece.split(b"\n")
            begun.append(first)
            if not others:
                continue
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]

    def read(self) -> bytes:
        """Return all that is to come.

        Raises:
            UnavailableError: as above, or it was closed before the end.
        """
        body = b"".join(self._pieces())
        if self._closed:
            raise UnavailableError(f"{self._asked}: closed before the end")
        return body

    def close(self) -> None:
        """Hear no more. Who waits for the answer or a line of it, in whichever thread, gets none."""
        with self._lock:
            self._closed = True
            hang_up(self._dialled)
            hang_up(self._socket)

    # --- for the connection

    def dials(self, line: socket.socket) -> None:
        """Note that a connection is being made."""
        with self._lock:
            self._forget_dialled()
            self._dialled = line
            if self._closed:
                hang_up(line)

    def uses(self, line: object) -> None:
        """Note by which socket the answer comes."""
        with self._lock:
            self._forget_dialled()
            self._socket = line
            if self._closed:
                hang_up(line)

    def answered(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Note the answer to read from."""
        self._answer = answer

    def ended(self) -> None:
        """Note that there is no more of the answer: its connection may serve others from now on."""
        with self._lock:
            self._forget_dialled()
            self._socket = None

    def _forget_dialled(self) -> None:
        """Give the second handle up, which leaves the connection as it is."""
        if self._dialled is not None:
            self._dialled.close()
            self._dialled = None

    def _pieces(self) -> Iterator[bytes]:
        if self._answer is None:
            raise RuntimeError("nothing was answered yet")
        try:
            for piece in self._answer.stream(_READ_AT_ONCE):
                if self._closed:
                    return
                yield piece
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if not self._closed:
                raise self._broken(error) from None
        finally:
            self.ended()

    def _broken(self, error: Exception) -> UnavailableError:
        if isinstance(error, urllib3.exceptions.ReadTimeoutError):
            return UnavailableError(f"{self._asked}: nothing heard for too long")
        return UnavailableError(f"{self._asked}: the connection broke: {type(error).__name__}")
