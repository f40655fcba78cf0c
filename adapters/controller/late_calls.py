"""Calls to AWS that waited for credentials: they are asked about once more when they are signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import boto3

from treenail.adapters.ec2.call_retries import is_look_up

# Not those of STS, by which the credentials themselves are had, nor messages that are received.
_EVENTS: Final = ("before-send.ec2", "before-send.iam", "before-send.sqs.DeleteMessageBatch")


def refuse_late_calls(session: boto3.Session, may_change: Callable[[], None]) -> None:
    """Have `may_change` asked just before a call that changes something is sent by a client made after this.

    It raises a PortError where the call may not be sent. botocore may renew credentials, for minutes where
    their source is slow, when a call was begun and before it is sent.
    """

    def ask(*, event_name: str, **_: object) -> None:
        if not is_look_up(event_name.rpartition(".")[2]):
            may_change()

    for event in _EVENTS:
        session.events.register_first(event, ask)
