from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from tests.adapters.ec2.discovery.account import Account
from tests.probes import PlainDice
from treenail.adapters.controller import aws
from treenail.adapters.controller.ground import Ground
from treenail.adapters.ec2 import clients
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.clients import Clients
from treenail.adapters.ec2.discovery.cluster import Cluster
from treenail.adapters.ec2.live_catalogue import LiveCatalogue, Periods
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.settings.sources import SettingError, read_settings
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import NotLeadingError, UnavailableError
from treenail.domain.model.price_overrides import NO_OVERRIDES


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in no region, on no instance, with nobody's configuration."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setattr(clients, "_own_region", lambda: "")


def ground(**variables: str) -> Ground:
    clock = SystemClock()
    return Ground(
        settings=read_settings({"CLUSTER_NAME": "demo", "INTERRUPTION_QUEUE": "q", **variables}, {}),
        clock=clock,
        dated=lambda _: None,
        dice=PlainDice(),
        telemetry=RecordingTelemetry(),
        congested=lambda: False,
        interruptions_congested=lambda: False,
        failed=lambda _: None,
        tenure=Tenure(clock.monotonic),
    )


def open_ec2(ground: Ground) -> object:
    return aws.open_ec2(ground, cast("Connection", None), NO_OVERRIDES)


OPENING = pytest.mark.parametrize("open_it", [open_ec2, aws.open_queue])


@OPENING
def test_without_a_region_the_setting_is_named(open_it: Callable[[Ground], object]) -> None:
    with pytest.raises(SettingError, match=r"^AWS_REGION: no region"):
        open_it(ground())


@OPENING
def test_a_region_that_is_none_is_a_bad_setting(open_it: Callable[[Ground], object]) -> None:
    with pytest.raises(SettingError, match=r"^AWS_REGION: .*eu west"):
        open_it(ground(AWS_REGION="eu west"))


@OPENING
def test_without_the_profile_the_setting_is_named(
    open_it: Callable[[Ground], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(SettingError, match=r"^AWS_PROFILE: .*nobody"):
        open_it(ground(AWS_REGION="eu-west-1"))


@OPENING
def test_a_broken_configuration_of_aws_is_a_bad_setting(
    open_it: Callable[[Ground], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("no section")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))

    with pytest.raises(SettingError, match=r"^AWS_REGION, AWS_PROFILE: "):
        open_it(ground(AWS_REGION="eu-west-1"))


@pytest.mark.parametrize("variables", [{"AWS_REGION": "eu-west-1"}, {}])
def test_the_queue_is_in_the_region_that_ec2_is_asked_in(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_own_region", lambda: "ap-south-1")
    opened: list[boto3.Session] = []

    class Queue:
        def __init__(self, *_: object, session: boto3.Session, **__: Any) -> None:
            opened.append(session)

    monkeypatch.setattr(aws, "SqsQueue", Queue)

    aws.open_queue(ground(**variables))

    assert [s.region_name for s in opened] == [variables.get("AWS_REGION", "ap-south-1")]


class ServerOfVersion:
    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def request(self, _method: str, _path: str) -> bytes:
        return self._answer


@pytest.mark.parametrize("answer", [b"", b"<html>", b"\xff", b"[]", b"{}", b"null", b"[" * 100_000])
def test_a_version_that_cannot_be_read_is_no_answer(answer: bytes) -> None:
    with pytest.raises(UnavailableError, match="GET /version: the answer tells no version"):
        aws.server_version(cast("Connection", ServerOfVersion(answer)))


def test_the_version_is_what_the_server_says() -> None:
    said = b'{"gitVersion": "v1.34.2"}'

    assert aws.server_version(cast("Connection", ServerOfVersion(said))) == "v1.34.2"


def test_where_eks_runs_the_control_plane_it_tells_the_version() -> None:
    with Account() as account:
        account.answers("eks.describe_cluster", {"cluster": {"version": "1.33"}}, name="demo")

        assert aws.eks_version(account.aws, "demo") == "1.33"


def test_a_cluster_of_which_eks_tells_no_version_is_no_answer() -> None:
    with Account() as account:
        account.answers("eks.describe_cluster", {"cluster": {}}, name="demo")

        with pytest.raises(UnavailableError, match="EKS tells no version of Kubernetes for the cluster demo"):
            aws.eks_version(account.aws, "demo")


@pytest.mark.parametrize(("eks", "asked"), [("true", "EKS"), ("false", "the API server")])
def test_the_version_is_asked_for_where_the_setting_says(
    eks: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aws, "eks_version", lambda *_: "EKS")
    monkeypatch.setattr(aws, "server_version", lambda _: "the API server")
    versions: list[str] = []

    def cluster(*given: Any) -> Cluster:
        versions.append(given[3]())
        return Cluster(*given)

    monkeypatch.setattr(aws, "Cluster", cluster)

    aws.open_ec2(
        ground(AWS_REGION="eu-west-1", EKS_CONTROL_PLANE=eks), cast("Connection", None), NO_OVERRIDES
    )

    assert versions == [asked]


def test_what_selectors_mean_is_remembered_as_long_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: dict[str, Any] = {}

    def live(*given: Any, **named: Any) -> LiveCatalogue:
        made.update(named)
        return LiveCatalogue(*given, **named)

    monkeypatch.setattr(aws, "LiveCatalogue", live)
    own = ground(
        AWS_REGION="eu-west-1",
        SUBNET_REFRESH_INTERVAL="3m",
        AMI_REFRESH_INTERVAL="1h",
        ISOLATED_VPC="true",
        RESERVED_ENIS="2",
        VM_MEMORY_OVERHEAD_PERCENT="0.1",
    )

    aws.open_ec2(own, cast("Connection", None), NO_OVERRIDES)

    assert made["periods"] == Periods(subnets=180.0, images=3600.0)
    assert made["settings"] == NodeSizing(vm_memory_overhead_percent=0.1, reserved_enis=2)
    assert made["isolated"] is True


def test_ec2_s_and_the_queue_s_clients_send_no_change_while_the_lease_is_not_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions: list[boto3.Session] = []
    clients_open = Clients.open

    def opened(*, session: boto3.Session) -> Clients:
        sessions.append(session)
        return clients_open(session=session)

    monkeypatch.setattr(Clients, "open", opened)
    monkeypatch.setattr(aws, "SqsQueue", lambda *_, session, **__: sessions.append(session))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    open_ec2(ground(AWS_REGION="eu-west-1"))
    aws.open_queue(ground(AWS_REGION="eu-west-1"))

    for session in sessions:
        with pytest.raises(NotLeadingError):
            session.client("ec2").terminate_instances(InstanceIds=["i-0"])
    assert len(sessions) == 2


@pytest.mark.parametrize(("written", "asked"), [("true", True), ("false", False)])
def test_zonal_shifts_are_asked_for_only_where_they_are_to_be_heeded(
    written: str,
    asked: bool,  # noqa: FBT001
) -> None:
    opened = aws.open_ec2(
        ground(AWS_REGION="eu-west-1", ENABLE_ZONAL_SHIFT=written), cast("Connection", None), NO_OVERRIDES
    )

    assert (opened.zonal_shifts is not None) is asked
