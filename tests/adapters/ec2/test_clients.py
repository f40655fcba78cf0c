from __future__ import annotations

from typing import Any

import boto3
import pytest

from treenail.adapters.ec2 import clients
from treenail.adapters.ec2.clients import Clients


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in no region, on no instance, with nobody's configuration."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setattr(clients, "_own_region", lambda: "")


def opened(region: str = "", of_session: str | None = None) -> Clients:
    session = boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret", region_name=of_session)  # noqa: S106
    return Clients.open(region=region, session=session)


def test_the_region_is_what_is_asked_for_or_that_of_the_session_of_the_environment_or_of_the_instance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "_own_region", lambda: "ap-south-1")
    of_instance = opened()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    regions = [
        one.region for one in (of_instance, opened(), opened("", "us-west-2"), opened("us-east-2", "x-1"))
    ]

    assert regions == ["ap-south-1", "eu-west-1", "us-west-2", "us-east-2"]


def test_without_any_region_nothing_is_opened() -> None:
    with pytest.raises(ValueError, match="AWS_REGION"):
        opened()


def test_clients_leave_repeating_to_the_gate_and_wait_for_no_answer_for_ever() -> None:
    found = opened("eu-west-1")

    for client in (found.ec2, found.ssm, found.pricing):
        config: Any = client.meta.config
        assert config.retries == {"mode": "standard", "total_max_attempts": 1}
        assert (config.connect_timeout, config.read_timeout) == (5, 60)
    assert (found.ec2.meta.region_name, found.pricing.meta.region_name) == ("eu-west-1", "eu-central-1")
