"""An API server on a loopback port that says what a test has it say."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from treenail.adapters.kubernetes.resources import RESOURCES, Resource

Tree: TypeAlias = dict[str, Any]

_SOON = 5.0


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def streamed(self) -> bool:
        """Whether it is for a list in a stream."""
        return self.query.get("sendInitialEvents") == "true"

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "1" and not self.streamed


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False
    # It is given when this is set.
    held: threading.Event | None = None


HANG = Reply(hang=True)
DROP = Reply(drop=True)


def status(code: int, reason: str = "", message: str = "no", **more: Any) -> Reply:
    """The API server's answer to what it refuses."""
    headers = more.pop("headers", {})
    tree = {"kind": "Status", "code": code, "reason": reason, "message": message, **more}
    return Reply(code, json.dumps(tree).encode(), headers)


NOT_STREAMED = status(422, "Invalid", "sendInitialEvents is forbidden for watch")
GONE = status(410, "Expired", "too old resource version")


class OpenWatch:
    """The server's end of a watch."""

    def __init__(self, asked: Asked) -> None:
        self.query = asked.query
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def send(self, kind: str, thing: Tree) -> None:
        self.raw(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    def bookmark(self, revision: int) -> None:
        self.send("BOOKMARK", {"metadata": {"resourceVersion": str(revision)}})

    def raw(self, data: bytes) -> None:
        self._lines.put(data)

    def end(self) -> None:
        self._lines.put(None)

    def cut(self) -> None:
        """End the connection without the end that HTTP demands."""
        self._lines.put(b"")

    def next(self) -> bytes | None:
        return self._lines.get()


class _Http(ThreadingHTTPServer):
    # As many as one client asks for at once: one that is refused comes again a second later.
    request_queue_size = 64


class ScriptedServer:
    """Lists and watches of what it serves, but for the answers that were laid before it.

    Where it `streams`, a test says what comes: `streamed` is for the next list that is asked for in a stream.
    """

    def __init__(self) -> None:
        self.streams = False
        self.asked: list[Asked] = []
        self.objects: dict[str, list[Tree]] = {}
        self.revision: dict[str, int] = defaultdict(lambda: 1)
        self._next: dict[tuple[str, bool], deque[Reply]] = defaultdict(deque)
        self._opened: dict[tuple[str, bool], queue.SimpleQueue[OpenWatch]] = defaultdict(queue.SimpleQueue)
        self._watches: list[OpenWatch] = []
        self._over = threading.Event()
        self._told = threading.Condition()
        self._http = _Http(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="scripted")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for watch in self._watches:
            watch.end()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def serve(self, resource: Resource, *objects: Tree, revision: int = 1) -> None:
        self.objects[resource.path()] = list(objects)
        self.revision[resource.path()] = revision

    def serve_all(self) -> None:
        for resource in RESOURCES.values():
            self.objects.setdefault(resource.path(), [])

    def remove(self, resource: Resource) -> None:
        del self.objects[resource.path()]

    def lists(self, resource: Resource, *replies: Reply) -> None:
        """Answer the next requests for a list so."""
        self._next[resource.path(), False].extend(replies)

    def watches(self, resource: Resource, *replies: Reply) -> None:
        """Answer the next requests for a watch so."""
        self._next[resource.path(), True].extend(replies)

    def answers(self, path: str, *replies: Reply) -> None:
        self._next[path, False].extend(replies)

    def watch(self, resource: Resource) -> OpenWatch:
        """The next watch that a client opens."""
        return self._opened[resource.path(), False].get(timeout=_SOON)

    def streamed(self, resource: Resource) -> OpenWatch:
        """The next list that a client asks for in a stream."""
        return self._opened[resource.path(), True].get(timeout=_SOON)

    def requests(self, resource: Resource, *, watch: bool = False) -> list[Asked]:
        """Requests for lists (those in a stream left out) or watches."""
        asked = [a for a in self.asked if a.path == resource.path() and not a.streamed]
        return [a for a in asked if a.watch is watch]

    def wait_for(self, resource: Resource, count: int, *, watch: bool = False) -> list[Asked]:
        """Wait until so many requests came, and return them."""
        with self._told:
            assert self._told.wait_for(lambda: len(self.requests(resource, watch=watch)) >= count, _SOON)
        return self.requests(resource, watch=watch)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def answer(self) -> None:
                with contextlib.suppress(ConnectionError):
                    server._answer(self)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                return

        return Handler

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        url = urlsplit(to.path)
        body = to.rfile.read(int(to.headers.get("Content-Length", 0)))
        asked = Asked(to.command, url.path, dict(parse_qsl(url.query)), dict(to.headers), body)
        with self._told:
            self.asked.append(asked)
            laid = deque() if asked.streamed else self._next[asked.path, asked.watch]
            reply = laid.popleft() if laid else None
            self._told.notify_all()
        if reply is not None:
            self._send(to, reply)
        elif asked.streamed and not self.streams:
            self._send(to, NOT_STREAMED)
        elif asked.path not in self.objects:
            self._send(to, Reply(404, b"404 page not found\n"))
        elif asked.watch or asked.streamed:
            self._keep_watch(to, OpenWatch(asked))
        else:
            self._send(to, self._page(asked))

    def _page(self, asked: Asked) -> Reply:
        things = self.objects[asked.path]
        start = int(asked.query.get("continue", 0))
        end = start + int(asked.query.get("limit", len(things)))
        meta: Tree = {"resourceVersion": str(self.revision[asked.path])}
        if end < len(things):
            meta["continue"] = str(end)
        return Reply(body=json.dumps({"metadata": meta, "items": things[start:end]}).encode())

    def _send(self, to: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.held is not None:
            reply.held.wait(_SOON)
        if reply.hang or reply.drop:
            if reply.hang:
                self._over.wait()
            to.close_connection = True
            return
        to.send_response(reply.status)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(reply.body)

    def _keep_watch(self, to: BaseHTTPRequestHandler, watch: OpenWatch) -> None:
        self._watches.append(watch)
        if self._over.is_set():
            watch.end()
        to.send_response(200)
        to.send_header("Transfer-Encoding", "chunked")
        to.end_headers()
        self._opened[urlsplit(to.path).path, "sendInitialEvents" in watch.query].put(watch)
        to.close_connection = True
        while data := watch.next():
            to.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if data is None:
            to.wfile.write(b"0\r\n\r\n")
            to.close_connection = False
