from __future__ import annotations

import gc
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.real.kubernetes.faults import Asked, Fault
from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.errors import OverloadedError, ThrottledError
from treenail.domain.model.errors import UnavailableError

NODES = "/api/v1/nodes"
A_NODE = json.dumps({"metadata": {"name": "by-proxy"}}).encode()


@pytest.fixture
def proxy(api_server: ControlPlane, tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(api_server, tmp_path) as proxy:
        yield proxy
    api_server.request("DELETE", f"{NODES}/by-proxy")


@pytest.fixture
def connection(proxy: Proxy) -> Iterator[Connection]:
    with closing(way_through(proxy)) as connection:
        yield connection


def way_through(proxy: Proxy) -> Connection:
    return Connection.open(kubeconfig=proxy.kubeconfig, qps=1000, burst=1000)


class Watch:
    """A watch of nodes in a thread: its lines, and whether it ended in an error."""

    def __init__(self, connection: Connection) -> None:
        self.lines: list[bytes] = []
        self.broke = False
        self._connection = connection
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def ended(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        query = {"watch": "1", "timeoutSeconds": "30"}
        try:
            with self._connection.stream(NODES, query=query, idle_timeout=20) as stream:
                self.lines += stream
        except UnavailableError:
            self.broke = True


def test_requests_pass_and_are_noted(proxy: Proxy, connection: Connection) -> None:
    connection.request("POST", NODES, body=A_NODE)

    names = [item["metadata"]["name"] for item in json.loads(connection.request("GET", NODES))["items"]]
    assert names == ["by-proxy"]
    assert [(a.method, a.target) for a in proxy.asked()] == [("POST", NODES), ("GET", NODES)]
    assert proxy.lists() == {NODES: 1}


def test_a_watch_passes_line_by_line_until_it_is_cut(proxy: Proxy, connection: Connection) -> None:
    watch = Watch(connection)
    eventually(lambda: proxy.watches == 1, "no watch")
    connection.request("POST", NODES, body=A_NODE)
    # Nodes that other tests left are told of as well.
    eventually(lambda: any(b"by-proxy" in line for line in watch.lines), "no line")

    assert proxy.cut_watches() == 1

    watch.ended()
    assert watch.broke
    eventually(lambda: proxy.watches == 0, "the watch is open")


def test_a_fault_hits_what_it_is_for_as_long_as_it_lasts(proxy: Proxy, connection: Connection) -> None:
    with proxy.fault(Fault(status=503, of=lambda asked: asked.is_write)):
        connection.request("GET", NODES)
        with pytest.raises(OverloadedError, match="a fault of the test"):
            connection.request("POST", NODES, body=A_NODE)

    connection.request("POST", NODES, body=A_NODE)


def test_what_is_refused_as_too_much_is_not_done(proxy: Proxy, connection: Connection) -> None:
    with proxy.fault(Fault(status=429, retry_after=60)), pytest.raises(ThrottledError) as told:
        connection.request("POST", NODES, body=A_NODE)

    assert told.value.retry_after == 60
    connection.request("POST", NODES, body=A_NODE)


def test_what_is_carried_out_is_done_though_its_answer_is_lost(proxy: Proxy, connection: Connection) -> None:
    with proxy.fault(Fault(status=504, carried_out=True)), pytest.raises(OverloadedError):
        connection.request("POST", NODES, body=A_NODE)

    connection.request("GET", f"{NODES}/by-proxy")


def test_a_watch_can_be_told_of_a_fault(proxy: Proxy, connection: Connection) -> None:
    with proxy.fault(Fault(status=410, of=lambda asked: asked.is_watch, told=True)):
        watch = Watch(connection)
        watch.ended()

    [event] = [json.loads(line) for line in watch.lines]
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_connections_are_refused_while_the_server_is_away(
    api_server: ControlPlane, proxy: Proxy, connection: Connection
) -> None:
    watch = Watch(connection)
    eventually(lambda: proxy.watches == 1, "no watch")
    api_server.kill_part("kube-apiserver")
    try:
        watch.ended()
        with pytest.raises(UnavailableError, match="no connection to the API server"):
            connection.request("GET", NODES)
    finally:
        api_server.start_part("kube-apiserver")

    connection.request("GET", NODES)


def test_it_ends_with_nothing_left_open_though_the_server_does_not_say_good_bye(
    api_server: ControlPlane, tmp_path: Path
) -> None:
    try:
        with Proxy(api_server, tmp_path) as proxy, closing(way_through(proxy)) as connection:
            watch = Watch(connection)
            eventually(lambda: proxy.watches == 1, "no watch")
            api_server.pause_part("kube-apiserver")
            proxy.cut_watches()
            watch.ended()
    finally:
        api_server.resume_part("kube-apiserver")

    # What was left open is told of when it is collected, and fails the test.
    gc.collect()


def test_it_ends_with_nothing_left_open_though_a_client_never_says_a_word(
    api_server: ControlPlane, tmp_path: Path
) -> None:
    with (
        ExitStack() as silent,
        Proxy(api_server, tmp_path) as proxy,
        closing(way_through(proxy)) as connection,
    ):
        silent.enter_context(socket.create_connection(("127.0.0.1", urlsplit(connection.url).port)))
        # Who came later is served: the silent one was let in.
        connection.request("GET", NODES)

    gc.collect()


@pytest.mark.parametrize(
    ("target", "is_list", "is_watch"),
    [
        ("/api/v1/pods?limit=500", True, False),
        ("/api/v1/pods?limit=500&continue=abc", False, False),
        ("/api/v1/pods?watch=1&resourceVersion=5", False, True),
        ("/api/v1/pods?watch=1&sendInitialEvents=true", True, False),
        ("/apis/karpenter.sh/v1/nodeclaims", True, False),
        ("/apis/karpenter.sh/v1/nodeclaims/one", False, False),
        ("/version", False, False),
    ],
)
def test_what_is_a_list_and_what_a_watch(target: str, *, is_list: bool, is_watch: bool) -> None:
    asked = Asked(0.0, "GET", target)

    assert (asked.is_list, asked.is_watch) == (is_list, is_watch)
