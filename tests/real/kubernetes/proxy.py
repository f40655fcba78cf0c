"""A way to the API server on which requests can go wrong, and are counted."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar
from urllib.parse import urlsplit

from tests.real.kubernetes.faults import Asked, Fault, Faults
from tests.real.kubernetes.http_passing import Head, answer
from tests.real.parts.control_plane import ControlPlane

_LOOK_EVERY: Final = 0.05
# What is let in, or aborted, is so after two turns of the loop.
_TURNS: Final = 4
_PATIENCE: Final = 30.0

R = TypeVar("R")


class Proxy:
    """Passes requests on to an API server, under its certificate, and notes each one.

    While the server is away, connections are refused here as they are there. `kubeconfig` leads here. One
    thread does it all, from the beginning of the context to its end.
    """

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        at = urlsplit(plane.url)
        self._server = (at.hostname, at.port)
        self._trusted = ssl.create_default_context(cafile=str(plane.certificate))
        self._shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._shown.load_cert_chain(plane.certificate, plane.certificate.with_suffix(".key"))
        self._plane = plane
        self.kubeconfig = folder / "kubeconfig-of-proxy"
        self._faults = Faults()
        self._asked: list[Asked] = []
        self._watches: dict[asyncio.StreamWriter, None] = {}
        self._tasks: dict[asyncio.Task[object], None] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._door: asyncio.Server | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._open())
        there, here = self._plane.url, f"https://127.0.0.1:{self._port}"
        self.kubeconfig.write_text(self._plane.kubeconfig.read_text().replace(there, here))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- what goes wrong

    def fault(self, fault: Fault) -> AbstractContextManager[None]:
        """Have a fault meanwhile."""
        return self._faults.within(fault)

    def cut_watches(self) -> int:
        """Break the connections of all watches; return how many there were."""
        return self._do(self._cut())

    # --- what was asked

    def asked(self, *, since: float = 0.0) -> list[Asked]:
        """Return the requests made after a moment of the monotonic clock."""
        return [asked for asked in list(self._asked) if asked.at >= since]

    def lists(self, *, since: float = 0.0) -> Counter[str]:
        """Return how often all objects of a resource were asked for, by path."""
        return Counter(asked.path for asked in self.asked(since=since) if asked.is_list)

    @property
    def watches(self) -> int:
        """How many watches are open now."""
        return len(self._watches)

    # --- in the thread

    def _do(self, work: Coroutine[object, object, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    async def _open(self) -> None:
        self._door = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._door.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._door is not None:
            self._door.close()
        await _let_turns_pass()
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await _let_turns_pass()

    async def _cut(self) -> int:
        cut = list(self._watches)
        for near in cut:
            near.transport.abort()
        return len(cut)

    async def _serve(self, asking: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        """See one connection through, to its end on either side."""
        with self._under_way(), ExitStack() as opened, suppress(OSError):
            # TLS ends with words on both sides, but not all who go away say them.
            opened.callback(near.transport.abort)
            await near.start_tls(self._shown)
            try:
                answering, far = await asyncio.open_connection(*self._server)
                opened.callback(far.transport.abort)
                await far.start_tls(self._trusted, server_hostname=self._server[0])
            except OSError:
                self._close_the_door()
                return
            await self._pass_all_on(asking, near, answering, far)

    async def _pass_all_on(
        self,
        asking: asyncio.StreamReader,
        near: asyncio.StreamWriter,
        answering: asyncio.StreamReader,
        far: asyncio.StreamWriter,
    ) -> None:
        ends = [self._loop.create_task(_end_with(*pair)) for pair in ((near, far), (far, near))]
        try:
            with suppress(OSError, EOFError):
                while True:
                    await self._pass_on(asking, near, answering, far)
            near.close()
            await asyncio.gather(*ends)
        finally:
            for end in ends:
                end.cancel()

    async def _pass_on(
        self,
        asking: asyncio.StreamReader,
        near: asyncio.StreamWriter,
        answering: asyncio.StreamReader,
        far: asyncio.StreamWriter,
    ) -> None:
        """Pass one request on, and its answer back; or something else."""
        head = await Head.read(asking)
        body = b"".join([piece async for piece in head.body(asking)])
        asked = Asked(time.monotonic(), *head.start.split(" ")[:2])
        self._asked.append(asked)
        fault = self._faults.hits(asked)
        if fault is not None and not fault.carried_out:
            near.write(_error(fault))
            return
        await self._halt(near, asked, body, done=False)
        far.write(head.raw + body)
        head = await Head.read(answering)
        await self._halt(near, asked, body, done=True)
        with self._watching(near) if asked.is_watch else nullcontext():
            if fault is None:
                near.write(head.raw)
            async for piece in head.body(answering):
                if fault is None:
                    near.write(piece)
                    await near.drain()
        if fault is not None:
            near.write(_error(fault))

    async def _halt(self, near: asyncio.StreamWriter, asked: Asked, body: bytes, *, done: bool) -> None:
        """Be told of a request before it is passed on, and once it is carried out: nothing is done here."""

    @contextmanager
    def _watching(self, near: asyncio.StreamWriter) -> Iterator[None]:
        self._watches[near] = None
        try:
            yield
        finally:
            del self._watches[near]

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """Have the task at hand end with the proxy."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks[task] = None
        try:
            yield
        finally:
            del self._tasks[task]

    def _close_the_door(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
            self._loop.create_task(self._open_again())

    async def _open_again(self) -> None:
        """Let connections in again once the server takes them."""
        with self._under_way():
            while not await self._server_is_there():  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(_LOOK_EVERY)
            await self._open()

    async def _server_is_there(self) -> bool:
        try:
            _, far = await asyncio.open_connection(*self._server)
        except OSError:
            return False
        far.transport.abort()
        return True


async def _end_with(one: asyncio.StreamWriter, other: asyncio.StreamWriter) -> None:
    """End a connection when another does."""
    with suppress(OSError):
        await one.wait_closed()
    other.close()


async def _let_turns_pass() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _error(fault: Fault) -> bytes:
    return answer(200 if fault.told else fault.status, *fault.answer())
