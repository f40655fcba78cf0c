from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import urllib3

from tests.real.parts import binaries
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import PATIENCE, Processes, Program
from tests.test_dashboards import RULES, TESTS, queries
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.telemetry.metric_registry import CONTENT_TYPE, MetricRegistry
from treenail.domain.telemetry.metric import Metric, MetricKind
from treenail.domain.telemetry.metrics import METRICS
from treenail.domain.telemetry.series import Series

CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: treenail
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


# Labels of which queries ask for a value by name.
ASKED_FOR = {"phase": "pack", "decision": "approved", "type": "Registered", "resource_type": "cpu"}


class Exposing(BaseHTTPRequestHandler):
    """Serves every metric that is declared; each scrape finds each of them risen."""

    registry = MetricRegistry(SystemClock())

    def do_GET(self) -> None:
        for metric in METRICS:
            write(self.registry, metric)
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.end_headers()
        self.wfile.write(self.registry.exposition())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def write(registry: MetricRegistry, metric: Metric) -> None:
    labels = {label: ASKED_FOR.get(label, "some") for label in metric.labels}
    match metric.kind:
        case MetricKind.COUNTER:
            registry.count(metric.name, 1, labels)
        case MetricKind.GAUGE if metric.shown:
            registry.show(metric.name, lambda: (Series(metric, 1, labels),))
        case MetricKind.GAUGE:
            registry.gauge(metric.name, 1, labels)
        case MetricKind.HISTOGRAM | MetricKind.SUMMARY:
            registry.observe(metric.name, 1, labels)


class Prometheus:
    """A real Prometheus with our rules, that scrapes `Exposing`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool = urllib3.PoolManager()

    def ask(self, query: str) -> list[object]:
        answer = self._pool.request("GET", f"{self._url}/api/v1/query", fields={"query": query}, timeout=10)
        assert answer.status == 200, answer.data
        found: list[object] = answer.json()["data"]["result"]
        return found


def comes(true: Callable[[], bool], *, seconds: float) -> bool:
    """Return whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not (came := true()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return came


pytestmark = pytest.mark.usefixtures("prometheus_parts")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with ThreadingHTTPServer(("127.0.0.1", 0), Exposing) as exposing:
        threading.Thread(target=exposing.serve_forever, daemon=True).start()
        (port,) = free_ports(1)
        (folder / "config.yaml").write_text(CONFIG.format(rules=RULES, port=exposing.server_port))
        processes = Processes()
        try:
            url = f"http://127.0.0.1:{port}"
            command: list[str | Path] = [
                binaries.program("prometheus"),
                f"--config.file={folder / 'config.yaml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ]
            processes.start(
                Program(name="prometheus", command=command, ready=lambda: answers(f"{url}/-/ready"))
            )
            processes.wait("prometheus")
            started = Prometheus(url)
            assert comes(
                lambda: bool(started.ask("rate(treenail_timer_delay_seconds_count[1m]) > 0")),
                seconds=PATIENCE,
            )
            yield started
        finally:
            processes.close()
            exposing.shutdown()


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(  # noqa: S603 (built here)
        [binaries.program("promtool"), *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_the_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)


def test_each_alert_fires_when_it_should_and_not_otherwise() -> None:
    assert "SUCCESS" in promtool("test", "rules", TESTS)


@pytest.mark.parametrize("query", sorted({q for q in queries() if "absent" not in q and " == 0" not in q}))
def test_each_query_finds_what_the_controller_exposes(prometheus: Prometheus, query: str) -> None:
    asked = query.replace("$__rate_interval", "1m").replace("$nodepool", ".*")
    # What compares with a threshold finds nothing on a healthy controller: its left side does.
    left = asked.split(" > ")[0] if " / " not in asked else asked

    assert comes(lambda: bool(prometheus.ask(left)), seconds=30)
