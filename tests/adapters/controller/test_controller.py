from __future__ import annotations

import http.client
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.controller.real_time import Lab
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.controller.controller import Controller
from treenail.adapters.controller.failures import Failures
from treenail.adapters.controller.ground import Ground, OpenOutside, Outside
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.settings.sources import SettingError, read_settings

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "001-inflate.yaml"
SECONDS = 60.0
MEASURED = 'treenail_actor_inbox_delay_seconds_count{actor="ClusterState"}'


def until(condition: Callable[[], bool], within: float = SECONDS) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not so in time"
        time.sleep(0.02)


class House:
    """A controller on threads, and the fakes around it."""

    def __init__(self, directory: Path, **variables: str) -> None:
        self.directory = directory
        self.lab = Lab()
        self.log = io.StringIO()
        self.code: int | None = None
        self.outside: OpenOutside = self.lab.open
        self.last_resort = threading.Event()
        environment = {
            "CLUSTER_NAME": "demo",
            "METRICS_PORT": "0",
            "HEALTH_PROBE_PORT": "0",
            "BATCH_IDLE_DURATION": "200ms",
            "STATE_DIRECTORY": str(directory),
            **variables,
        }
        self.controller = Controller(
            read_settings(environment, {}),
            self._open,
            log=self.log,
            last_resort=self.last_resort.set,
        )
        self._thread = threading.Thread(target=self._run, name="main")

    def _open(self, ground: Ground) -> Outside:
        return self.outside(ground)

    def _run(self) -> None:
        self.code = self.controller.run()

    def start(self) -> None:
        self._thread.start()
        until(lambda: bool(self.controller.probe_port and self.controller.metrics_port))

    def scale(self, replicas: int) -> None:
        with self.lab.agenda.lock:
            self.lab.cluster.scale("inflate", replicas, namespace="default", kind="Deployment")

    def end(self) -> int | None:
        """Wait for the end; return the exit code."""
        self._thread.join(SECONDS)
        return self.code

    def close(self) -> None:
        if self._thread.is_alive():
            self.controller.stop()
            self.end()
        self.lab.agenda.stop()

    def get(self, path: str, *, metrics: bool = False) -> tuple[int, str]:
        port = self.controller.metrics_port if metrics else self.controller.probe_port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def lines(self, message: str) -> list[dict[str, Any]]:
        return [
            line for line in map(json.loads, self.log.getvalue().splitlines()) if line["message"] == message
        ]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


def test_the_live_page_is_served_where_it_is_wanted(tmp_path: Path) -> None:
    house = House(tmp_path, ENABLE_UI="true", UI_PORT="0")
    try:
        house.start()
        until(lambda: house.get("/readyz") == (200, "ok\n"))
        [served] = house.lines("serving the live page")
        connection = http.client.HTTPConnection("127.0.0.1", served["port"], timeout=SECONDS)
        connection.request("GET", "/ui")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert b"Cluster demo" in answer.read()
        assert served["host"] == "127.0.0.1"
    finally:
        house.close()


def test_five_pods_come_to_run_and_their_nodes_go_when_they_are_gone(house: House) -> None:
    house.start()
    until(lambda: house.get("/readyz") == (200, "ok\n"))
    manifests = parse_manifests(EXAMPLE.read_bytes().replace(b"AfterEmpty: 30", b"AfterEmpty: 1"), "example")
    with house.lab.agenda.lock:
        house.lab.cluster.apply(*decode_all(manifests).objects())

    until(lambda: house.lab.running() == 5)

    assert house.get("/healthz") == (200, "ok\n")
    assert house.get("/nowhere")[0] == 404
    status, text = house.get("/metrics", metrics=True)
    assert status == 200
    assert "karpenter_nodeclaims_created_total{" in text
    assert "treenail_provisioning_enabled 1.0" in text
    until(
        lambda: (
            'treenail_actor_inbox_delay_seconds_count{actor="ClusterState"}'
            in house.get("/metrics", metrics=True)[1]
        )
    )

    house.controller.stop()
    assert house.end() == 0
    assert house.lab.closed.is_set()
    assert house.lines("stopping")
    assert not house.last_resort.is_set()
    assert Failures(house.directory, SystemClock()).recent() == 0


def test_an_unexpected_exception_ends_the_process_and_is_remembered(house: House) -> None:
    house.start()
    until(lambda: house.lab.ground is not None)
    assert house.lab.ground is not None

    house.lab.ground.failed(ValueError("nobody expected this"))
    house.lab.ground.failed(ValueError("nor this"))

    assert house.end() == 1
    (line,) = house.lines("the process fails")
    assert line["error"] == "ValueError: nobody expected this"
    assert line["level"] == "ERROR"
    assert Failures(house.directory, SystemClock()).recent() == 1
    assert not house.last_resort.is_set()


@pytest.mark.parametrize(
    ("limit", "error"),
    [("_LAST_RESORT_WHEN_ASKED_SECONDS", None), ("_LAST_RESORT_SECONDS", ValueError("unexpected"))],
)
def test_an_end_that_hangs_comes_to_the_last_resort(
    limit: str, error: Exception | None, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"treenail.adapters.controller.controller.{limit}", 0.1)
    opened = house.lab.open

    def open_what_does_not_close(ground: Ground) -> Outside:
        return replace(opened(ground), close=lambda: hung.append(house.last_resort.wait(SECONDS)))

    hung: list[bool] = []
    house.outside = open_what_does_not_close
    house.start()
    until(lambda: house.lab.ground is not None)

    if error is None:
        house.controller.stop()
    else:
        house.controller.failed(error)

    assert house.end() == (0 if error is None else 1)
    assert hung == [True]


def test_after_three_failures_it_is_ready_without_provisioning_and_says_so(tmp_path: Path) -> None:
    failures = Failures(tmp_path, SystemClock())
    for _ in range(3):
        failures.note()
    house = House(tmp_path)
    house.start()

    until(lambda: house.get("/readyz")[1].startswith("ok: provisioning is off"))

    assert house.get("/readyz")[0] == 200
    assert house.get("/healthz") == (200, "ok\n")
    assert "treenail_provisioning_enabled 0.0" in house.get("/metrics", metrics=True)[1]
    text = house.get("/metrics", metrics=True)[1]
    [resumes] = re.findall(r"^treenail_provisioning_resumes_timestamp_seconds (.+)$", text, re.MULTILINE)
    assert 50 < float(resumes) - time.time() < 76
    [line] = house.lines("provisioning is off after failures, and comes back by itself")
    assert line["level"] == "ERROR"
    house.close()
    assert house.code == 0


def test_provisioning_comes_back_by_itself_in_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treenail.adapters.controller.failures.PAUSES", (3.0,))
    failures = Failures(tmp_path, SystemClock())
    for _ in range(3):
        failures.note()
    house = House(tmp_path)
    with house.lab.agenda.lock:
        house.lab.cluster.apply(*decode_all(parse_manifests(EXAMPLE.read_bytes(), "example")).objects())
    house.start()
    until(lambda: house.get("/readyz")[1].startswith("ok: provisioning is off"))
    assert house.lab.instances() == 0

    until(lambda: house.get("/readyz") == (200, "ok\n"))
    until(lambda: house.lab.running() == 5)

    text = house.get("/metrics", metrics=True)[1]
    assert "treenail_provisioning_enabled 1.0" in text
    assert "treenail_provisioning_resumes_timestamp_seconds 0.0" in text
    assert house.lines("provisioning is on again, on trial")
    house.close()
    assert house.code == 0


@pytest.mark.parametrize("variable", ["METRICS_PORT", "HEALTH_PROBE_PORT"])
def test_a_port_that_is_taken_is_told_of_and_nothing_is_left_running(
    variable: str, house: House, tmp_path: Path
) -> None:
    house.start()
    taken = house.controller.metrics_port
    other = House(tmp_path / "other", **{variable: str(taken)})

    with pytest.raises(SettingError) as caught:
        other.controller.run()

    assert str(caught.value) == f"{variable}: {taken} cannot be listened on: address in use"
    other.lab.agenda.stop()


def test_debug_lines_are_written_from_one_signal_to_the_next(tmp_path: Path) -> None:
    house = House(tmp_path, LOG_LEVEL="error")
    try:
        house.start()
        for times in (1, 2):
            house.controller.turn_log_level()
            until(lambda times=times: len(house.lines("log level turned")) == times)  # type: ignore[misc]
            house.controller.telemetry.log("a detail", level="debug")

        assert [line["log_level"] for line in house.lines("log level turned")] == ["debug", "error"]
        assert len(house.lines("a detail")) == 1
    finally:
        house.close()


def test_what_changes_nothing_is_warned_about(tmp_path: Path) -> None:
    house = House(tmp_path, MEMORY_LIMIT="1")
    house.start()
    house.close()

    (line,) = house.lines("MEMORY_LIMIT is set to '1', which changes nothing here")
    assert line["level"] == "WARNING"


def test_a_state_directory_that_cannot_be_written_to_is_warned_about_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    house = House(tmp_path / "file")
    house.start()
    house.close()

    (line,) = house.lines("STATE_DIRECTORY cannot be written to: failures will not be counted")
    assert line["level"] == "WARNING"
    assert str(tmp_path / "file") in line["error"]
