"""An answer that goes on: one line for each thing the server tells."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

import urllib3

from treenail.domain.ports import UnavailableError

_READ_AT_ONCE: Final = 65_536


class Stream:
    """The lines of an open answer, without their ends, as they come. Another thread may close it.

    It ends where the server ends it, and where it is closed; half a line at the end is left out.
    """

    def __init__(self, answer: urllib3.BaseHTTPResponse, asked: str) -> None:
        self._answer = answer
        self._asked = asked
        self._closed = threading.Event()

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
        if self._closed.is_set():
            raise UnavailableError(f"{self._asked}: closed before the end")
        return body

    def close(self) -> None:
        """Hear no more. Who waits for a line, in whichever thread, is woken and gets none."""
        if self._closed.is_set():
            return
        self._closed.set()
        try:
            self._answer.shutdown()
        except (OSError, RuntimeError, ValueError):
            # It is over already.
            return

    def _pieces(self) -> Iterator[bytes]:
        try:
            for piece in self._answer.stream(_READ_AT_ONCE):
                if self._closed.is_set():
                    return
                yield piece
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            # Closing takes the connection from under the one who reads, which shows in any of these ways.
            if not self._closed.is_set():
                raise self._broken(error) from None

    def _broken(self, error: Exception) -> UnavailableError:
        if isinstance(error, urllib3.exceptions.ReadTimeoutError):
            return UnavailableError(f"{self._asked}: nothing heard for too long")
        return UnavailableError(f"{self._asked}: the connection broke: {type(error).__name__}")
