from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import boto3
import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.credentials import RefreshableCredentials

from treenail.adapters.controller.late_calls import refuse_late_calls
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import NotLeadingError

# botocore's own retries would wait in between.
ONCE = Config(retries={"mode": "standard", "total_max_attempts": 1})


class Account:
    """AWS as a client reaches it whose credentials are renewed at each call, which takes a minute."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tenure = Tenure(lambda: self.now)
        self.tenure.extend(10.0)
        self.renewals = 0
        self.sent: list[str] = []
        inner: Any = botocore.session.Session()
        inner._credentials = RefreshableCredentials(
            "key", "secret", "token", datetime.now(UTC) - timedelta(hours=1), self.renew, "test"
        )
        self.session = boto3.Session(botocore_session=inner, region_name="us-east-1")
        refuse_late_calls(self.session, self.tenure.check)
        self.session.events.register_last("before-send", cast("Any", self.answer))

    def renew(self) -> dict[str, str]:
        self.now += 60
        self.renewals += 1
        later = datetime.now(UTC) + timedelta(hours=1)
        return {"access_key": "k", "secret_key": "s", "token": "t", "expiry_time": later.isoformat()}

    def answer(self, *, event_name: str, **_: object) -> AWSResponse:
        self.sent.append(event_name)
        return Answer()

    def client(self, service: str) -> Any:
        make: Any = self.session.client
        return make(service, config=ONCE)


class Answer(AWSResponse):
    def __init__(self) -> None:
        super().__init__("", 500, HTTPHeaders(), None)

    @property
    def content(self) -> bytes:
        return b"<Response><Errors><Error><Code>InternalError</Code></Error></Errors></Response>"


CHANGES = (
    ("ec2", "terminate_instances", {"InstanceIds": ["i-0"]}),
    ("iam", "delete_instance_profile", {"InstanceProfileName": "p"}),
    ("sqs", "delete_message_batch", {"QueueUrl": "https://sqs/q", "Entries": []}),
)


@pytest.mark.parametrize(("service", "call", "arguments"), CHANGES)
def test_a_change_that_waits_for_credentials_past_the_deadline_is_not_sent(
    service: str, call: str, arguments: dict[str, Any]
) -> None:
    account = Account()
    account.tenure.check()

    with pytest.raises(NotLeadingError):
        getattr(account.client(service), call)(**arguments)

    assert account.renewals == 1
    assert account.sent == []


@pytest.mark.parametrize(("service", "call", "arguments"), CHANGES)
def test_a_change_whose_credentials_come_before_the_deadline_is_sent(
    service: str, call: str, arguments: dict[str, Any]
) -> None:
    account = Account()
    account.tenure.extend(61.0)

    with pytest.raises(Exception, match=r"InternalError|500"):
        getattr(account.client(service), call)(**arguments)

    assert account.sent


def test_a_replica_that_does_not_lead_asks_for_credentials_looks_up_and_receives() -> None:
    account = Account()
    account.tenure.end()
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("sts", "assume_role", {"RoleArn": "arn:aws:iam::1:role/role", "RoleSessionName": "session"}),
        ("ec2", "describe_instances", {}),
        ("sqs", "receive_message", {"QueueUrl": "https://sqs/q"}),
    )

    for service, call, arguments in calls:
        with pytest.raises(Exception, match=r"InternalError|500"):
            getattr(account.client(service), call)(**arguments)

    assert {name.split(".")[1] for name in account.sent} == {"sts", "ec2", "sqs"}
