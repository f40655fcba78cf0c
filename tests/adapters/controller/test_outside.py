from __future__ import annotations

import io
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.adapters.cli.command import treenail
from tests.builders import node_class
from tests.probes import Probe
from treenail.adapters.cli.controller import spelled_out
from treenail.adapters.controller import aws, outside
from treenail.adapters.controller.ground import Ground
from treenail.adapters.controller.outside import NoQueue
from treenail.adapters.controller.telemetry import open_telemetry
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.settings.settings import CloudName
from treenail.adapters.settings.sources import SettingError, read_settings
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.node_classes import DEFAULT_KUBELET


def test_nodes_without_machines_need_neither_boto3_nor_arrays() -> None:
    code = (
        "import sys; import treenail.adapters.controller.controller, treenail.adapters.controller.outside, "
        "treenail.adapters.kwok.cloud; print([n for n in ('boto3', 'botocore', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_a_replica_that_waits_has_no_code_of_actors_pages_and_certificates() -> None:
    code = (
        "import sys; import treenail.adapters.controller.controller, treenail.adapters.controller.outside; "
        "print([n for n in ('treenail.actors.system', 'jinja2', 'cryptography') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_other_commands_do_not_pay_for_the_controller() -> None:
    code = (
        "import sys; from treenail.adapters.cli.application import COMMANDS, app_of; app_of(COMMANDS); "
        "print([n for n in ('boto3', 'kubernetes', 'opentelemetry') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_without_a_queue_no_message_ever_comes() -> None:
    heard, queue = Probe(), NoQueue()

    queue.feed(heard)
    queue.delete(("receipt",))
    queue.stop()

    assert heard.received == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "treenail: CLUSTER_NAME: the name of the cluster must be given\n"),
        (
            ("--cluster-name=demo", "--metrics-port=high"),
            "treenail: --metrics-port: 'high' is not a port between 0 and 65535\n",
        ),
    ],
)
def test_a_bad_setting_is_one_line_and_code_two(
    options: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLUSTER_NAME", raising=False)

    ran = treenail("controller", *options)

    assert (ran.code, ran.err) == (2, complaint)


def _controller(*options: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).parent / "treenail")
    command = [program, "controller", "--cluster-name=demo", "--cloud=kwok", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (("--isolated-vpc",), ("--isolated-vpc=true",)),
        (("--isolated-vpc", "--log-level", "debug"), ("--isolated-vpc=true", "--log-level", "debug")),
        (("--isolated-vpc", "false"), ("--isolated-vpc", "false")),
        (("--disable-leader-election=false",), ("--disable-leader-election=false",)),
        (("--leader-elect", "--memory-limit", "5"), ("--leader-elect=true", "--memory-limit", "5")),
        (("--log-level",), ("--log-level",)),
    ],
)
def test_an_option_that_is_true_or_false_needs_no_value(
    arguments: tuple[str, ...], read: tuple[str, ...]
) -> None:
    assert spelled_out(arguments) == list(read)


def test_the_command_takes_such_options_and_those_of_karpenters(tmp_path: Path) -> None:
    done = _controller("--isolated-vpc", "--memory-limit=5", f"--kubeconfig={tmp_path / 'nothing'}")

    assert done.stderr.startswith("treenail: KUBECONFIG: no way to the API server")


def test_no_way_to_the_cluster_is_one_line_and_code_two(tmp_path: Path) -> None:
    done = _controller(
        f"--kubeconfig={tmp_path / 'nothing'}",
        "--metrics-port=0",
        "--health-probe-port=0",
        f"--state-directory={tmp_path}",
    )

    assert done.returncode == 2
    assert done.stderr.startswith("treenail: KUBECONFIG: no way to the API server")
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line_and_code_two(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = _controller("--metrics-port=0", f"--health-probe-port={port}", f"--state-directory={tmp_path}")

    assert done.returncode == 2
    assert done.stderr == f"treenail: HEALTH_PROBE_PORT: {port} cannot be listened on: address in use\n"


class _Opened:
    """A connection and a packer's process in one, which only note what becomes of them."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def start(self) -> None:
        self.seen.append("process started")

    def stop(self) -> None:
        self.seen.append("process stopped")

    def close(self) -> None:
        self.seen.append("connection closed")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> _Opened:
    opened = _Opened()
    monkeypatch.setattr(outside, "WorkerSolver", lambda *_, **__: opened)
    monkeypatch.setattr(outside, "_connect", lambda _: opened)
    monkeypatch.setattr(outside, "_lease", lambda *_: None)
    return opened


@pytest.fixture
def ground() -> Iterator[Ground]:
    clock = SystemClock()
    settings = read_settings({"CLUSTER_NAME": "demo", "CLOUD": "kwok", "DISABLE_WEBHOOK": "true"}, {})
    telemetry = open_telemetry(settings, clock, io.StringIO())
    yield Ground(
        settings=settings,
        clock=clock,
        dated=lambda _: None,
        dice=SystemDice(),
        telemetry=telemetry,
        congested=lambda: False,
        interruptions_congested=lambda: False,
        failed=lambda _: None,
        tenure=Tenure(clock.monotonic),
    )
    telemetry.close(5.0)


@pytest.mark.parametrize("refusing", ["_cloud", "_queue"])
def test_where_the_cloud_or_the_queue_does_not_open_no_process_and_no_connection_stays(
    refusing: str, opened: _Opened, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SettingError("AWS_REGION: no region")

    monkeypatch.setattr(outside, refusing, refuse)

    with pytest.raises(SettingError, match="AWS_REGION"):
        outside.open_outside(ground)

    assert opened.seen == ["connection closed"]


def test_what_was_opened_ends_in_the_opposite_order(opened: _Opened, ground: Ground) -> None:
    there = outside.open_outside(ground)
    assert opened.seen == []

    there.lead()
    there.close()

    assert opened.seen == ["process started", "process stopped", "connection closed"]


class _Refreshing:
    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def start(self) -> None:
        self._seen.append("refreshing started")

    def stop(self, _seconds: float) -> None:
        self._seen.append("refreshing stopped")


def test_what_ec2_sells_is_kept_up_to_date_from_the_start_to_the_end(
    opened: _Opened, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_ec2 = replace(ground, settings=replace(ground.settings, cloud=CloudName.EC2))
    monkeypatch.setattr(aws, "open_ec2", lambda *_: aws.EC2(cast("Any", None), _refreshing(opened)))

    outside.open_outside(of_ec2).close()

    assert opened.seen == [
        "refreshing started",
        "process stopped",
        "refreshing stopped",
        "connection closed",
    ]


def _refreshing(opened: _Opened) -> Any:
    return _Refreshing(opened.seen)


def priced(ground: Ground, file: Path) -> Ground:
    return replace(ground, settings=replace(ground.settings, price_overrides_file=str(file)))


def test_nodes_without_machines_cost_what_the_file_of_prices_says(
    opened: _Opened, ground: Ground, tmp_path: Path
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("overrides: [{instanceTypes: [c-4x-*], price: 0.5}]")

    cloud = outside.open_outside(priced(ground, file)).ports.cloud

    types = cloud.instance_types(node_class(), DEFAULT_KUBELET)
    prices = {o.price for one in types if one.name.startswith("c-4x-") for o in one.offerings}
    assert prices == {0.5}
    assert {o.price for one in types for o in one.offerings} > prices
    assert opened.seen == []


def test_a_file_of_prices_that_makes_no_sense_is_a_bad_setting(
    opened: _Opened, ground: Ground, tmp_path: Path
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("overrides: [{factor: cheap}]")

    with pytest.raises(SettingError) as raised:
        outside.open_outside(priced(ground, file))

    assert str(raised.value) == (
        f'PRICE_OVERRIDES_FILE: {file}: overrides[0].factor: expected a number, got text "cheap"'
    )
    assert opened.seen == ["connection closed"]


@pytest.mark.usefixtures("opened")
def test_a_port_of_the_webhook_that_is_taken_is_a_bad_setting(ground: Ground) -> None:
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as taken:
        port = taken.getsockname()[1]
        settings = replace(ground.settings, disable_webhook=False, webhook_port=port)

        with pytest.raises(SettingError) as caught:
            outside.open_outside(replace(ground, settings=settings))

    assert str(caught.value) == f"WEBHOOK_PORT: {port} cannot be listened on: address in use"
