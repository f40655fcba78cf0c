"""HTTP/1.1 messages, as far as one must read them to pass them on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

_AT_ONCE: Final = 65_536
_BODILESS: Final = frozenset({"204", "304"})


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of a message and its headers, whose names are in lower case."""

    raw: bytes
    start: str
    headers: Mapping[str, str]

    @classmethod
    async def read(cls, reader: asyncio.StreamReader) -> Self:
        """Read one.

        Raises:
            EOFError: there is no more, or not all of it.
        """
        raw = await reader.readuntil(b"\r\n\r\n")
        start, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
        fields = (line.partition(":") for line in lines)
        return cls(raw, start, {name.lower(): value.strip() for name, _, value in fields})

    @property
    def bodiless(self) -> bool:
        """Whether it is an answer that never has a body."""
        return self.start.split(" ")[1] in _BODILESS

    async def body(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """Yield what follows, as it came.

        Raises:
            EOFError: not all of it came.
        """
        if self.headers.get("transfer-encoding") == "chunked":
            last = False
            while not last:
                size = await reader.readuntil(b"\r\n")
                last = int(size, 16) == 0
                yield size + await reader.readexactly(int(size, 16) + 2)
            return
        left = 0 if self.bodiless else int(self.headers.get("content-length", "0"))
        while left > 0:
            piece = await reader.read(min(left, _AT_ONCE))
            if not piece:
                raise EOFError
            left -= len(piece)
            yield piece


def answer(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a whole answer."""
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body
