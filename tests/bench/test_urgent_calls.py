"""What thousands of calls that can wait do to those that cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from kubernetes.client import Configuration
from pytest_benchmark.fixture import BenchmarkFixture

from treenail.actors.runtime.publishing import publish
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.launch.terminations import Terminations
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.runtime.tasks import ThreadTasks
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Outcome
from treenail.domain.status.pool_usage import PoolUsage

EVENTS, LAUNCHES, STATUSES = 5_000, 200, 500
# The ends of instances are gathered for so long, each with an eviction here.
URGENT, APART_SECONDS = 100, 0.1
# How long the API server and EC2 take to answer, in seconds.
ANSWER, FLEET, TERMINATE = 0.04, 1.5, 0.3


class _Slow(BaseHTTPRequestHandler):
    """An API server that takes its time and agrees to everything."""

    protocol_version = "HTTP/1.1"
    body = b'{"metadata":{"name":"one","uid":"uid","resourceVersion":"1"}}'

    def __getattr__(self, name: str) -> Callable[[], None]:
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self._answer

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(ANSWER)
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_request(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def slow_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Load:
    """The calls of a large cluster on a bad day, made as the actors make them."""

    def __init__(self, url: str) -> None:
        self.failures: list[BaseException] = []
        self.tasks = ThreadTasks(failed=self.failures.append)
        self.connection = Connection(Configuration(host=url), qps=200, burst=300)
        self.writer = KubernetesWriter(self.connection, clock=SystemClock(), dice=SystemDice())
        self.retries = CallRetries(SystemClock(), SystemDice())
        self.terminations = Terminations(
            lambda ids, purpose: self.retries.call(
                "ec2",
                "TerminateInstances",
                partial(time.sleep, TERMINATE),
                purpose=purpose,
                resources=len(ids),
            )
        )
        self.took: dict[str, list[float]] = {"eviction": [], "termination": []}
        self.done = 0

    def tell(self, _: Outcome[object], /) -> None:
        self.done += 1

    def run(self, key: tuple[str, ...], call: Callable[[], object], purpose: Purpose) -> None:
        self.tasks.run(key, call, self, lambda outcome: outcome, purpose=purpose)

    def fill(self) -> None:
        """Have all wait that can wait."""
        for number in range(EVENTS):
            about = ObjectRef("Pod", f"web-{number}", "shop", f"uid-{number}")
            publish(self.tasks, self.writer, ClusterEvent(about, "FailedScheduling", "no room", warning=True))
        for number in range(STATUSES):
            usage = partial(self.writer.set_usage, ObjectRef("NodePool", f"p-{number}"), PoolUsage(nodes=3))
            self.run(("kubernetes", "usage", str(number)), usage, Purpose.HOUSEKEEPING)
        for number in range(LAUNCHES):
            bind = partial(self.writer.bind_pod, "shop", f"b-{number}", uid=f"b-{number}", node="n")
            self.run(("kubernetes", "bind", str(number)), bind, Purpose.PROVISIONING)
            launch = partial(self.retries.call, "ec2", "CreateFleet", partial(time.sleep, FLEET))
            self.run(("ec2", "fleet", str(number)), launch, Purpose.PROVISIONING)

    def hurry(self, number: int) -> None:
        """Evict a pod and terminate an instance, as for an interruption."""
        evict = partial(self.writer.evict_pod, "shop", f"e-{number}", uid=f"e-{number}")
        end = partial(self.terminations.terminate, [f"i-{number:08x}"], Purpose.INTERRUPTION)
        for name, key, call in (
            ("eviction", ("kubernetes", "pod", str(number)), evict),
            ("termination", ("ec2", "terminate", str(number)), end),
        ):
            self.run(key, self._timed(name, call), Purpose.INTERRUPTION)

    def _timed(self, name: str, call: Callable[[], object]) -> Callable[[], None]:
        asked_at = time.monotonic()

        def timed() -> None:
            call()
            self.took[name].append(time.monotonic() - asked_at)

        return timed

    def close(self) -> None:
        self.tasks.stop(10)
        self.connection.close()


def test_an_eviction_and_a_termination_wait_for_no_events_launches_and_statuses(
    benchmark: BenchmarkFixture,
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    with slow_server() as url:
        load = Load(url)
        load.fill()
        left: dict[str, Any] = {}

        def urgent() -> None:
            for number in range(URGENT):
                load.hurry(number)
                time.sleep(APART_SECONDS)
            left.update(load.tasks.depths())
            until = time.monotonic() + 60
            while min(map(len, load.took.values())) < URGENT and time.monotonic() < until:
                time.sleep(0.01)

        benchmark.pedantic(urgent, rounds=1, iterations=1)  # type: ignore[no-untyped-call]
        load.close()
    for name, took in load.took.items():
        took.sort()
        benchmark.extra_info[f"{name} median ms"] = round(took[len(took) // 2] * 1000)
        benchmark.extra_info[f"{name} p99 ms"] = round(took[int(len(took) * 0.99) - 1] * 1000)
        benchmark.extra_info[f"{name} longest ms"] = round(took[-1] * 1000)
    benchmark.extra_info["calls left when the last was asked for"] = str(left)
    assert load.failures == []
    assert [len(took) for took in load.took.values()] == [URGENT, URGENT]
    assert left["kubernetes"] > EVENTS / 2
    assert left["ec2"] > LAUNCHES / 2
    assert all(took[int(URGENT * 0.99) - 1] < 1.0 for took in load.took.values())
