"""Clients that mean no good, as a process of its own: many connections to ports of this machine.

`python -m tests.real.system.rogues SECONDS NAME=PORT[+tls]...` keeps `COUNT` connections open to each port
for so long, opens one anew where it is closed, and then prints as JSON how many it opened to each. A third
says nothing, a third sends a byte a second, a third sends without end. They come from several addresses, the
API server's among them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import signal
import ssl
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from subprocess import PIPE, Popen
from types import TracebackType
from typing import Final, Self, TypeAlias

COUNT: Final = 200
_HOST: Final = "127.0.0.1"
_SOURCES: Final = (_HOST, _HOST, "127.0.0.2", "127.0.0.3")
_AGAIN_SECONDS: Final = 0.1
_LONG: Final = b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n"
_CHUNK: Final = b"x" * 65536
_BEGUN: Final = b"rogues are there"

Way: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Rogues:
    """The process. Use it as a context manager: it has begun then. `opened` is known after it."""

    def __init__(self, ports: Mapping[str, str], *, seconds: float) -> None:
        said = [f"{name}={port}" for name, port in sorted(ports.items())]
        self._command = [sys.executable, "-m", __name__, str(seconds), *said]
        self.opened: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._process = Popen(self._command, stdin=PIPE, stdout=PIPE)  # noqa: S603 (it is this module)
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == _BEGUN
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        with self._process as process:
            assert process.stdin is not None
            assert process.stdout is not None
            # It ends with its input.
            process.stdin.close()
            self.opened = json.loads(process.stdout.readline() or "{}")


async def _main(seconds: float, ports: list[str]) -> None:
    opened: Counter[str] = Counter()
    everybody: list[asyncio.Task[None]] = []
    for said in ports:
        name, _, where = said.partition("=")
        port, _, tls = where.partition("+")
        ways = itertools.cycle((_silent, _dripping, _endless))
        for number, way in zip(range(COUNT), ways, strict=False):
            source = _SOURCES[number % len(_SOURCES)]
            # Half of those to a port with TLS go through the handshake, and then do the same.
            context = _trusting() if tls and number % 2 else None
            everybody.append(
                asyncio.create_task(_again_and_again(name, int(port), source, context, way, opened))
            )
    print(_BEGUN.decode(), flush=True)  # noqa: T201 (for `Rogues`)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), seconds)
    print(json.dumps(opened), flush=True)  # noqa: T201 (for `Rogues`)
    # At once, and all connections with it.
    os._exit(0)


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _again_and_again(
    name: str, port: int, source: str, context: ssl.SSLContext | None, way: Way, opened: Counter[str]
) -> None:
    while True:
        opened[name] += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(_HOST, port, local_addr=(source, 0), ssl=context)
            try:
                await way(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(_AGAIN_SECONDS)


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del writer
    await reader.read()


async def _dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for byte in itertools.cycle(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 1000):
        writer.write(bytes([byte]))
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), 1.0)
            return


async def _endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del reader
    writer.write(_LONG)
    while not writer.is_closing():
        writer.write(_CHUNK)
        await writer.drain()
        # What is written after the end of TLS goes nowhere, and never makes `drain` wait.
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    # Whatever happens, it ends.
    signal.alarm(int(float(sys.argv[1])) + 5)
    logging.disable()
    asyncio.run(_main(float(sys.argv[1]), sys.argv[2:]))
