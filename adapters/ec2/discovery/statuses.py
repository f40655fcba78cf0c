"""Instance status: the results of EC2's status checks, and scheduled events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.discovery.asking import Aws, matching
from treenail.domain.interruption.impairments import Impairment
from treenail.domain.interruption.message_parsing import InterruptionKind

if TYPE_CHECKING:  # the types of requests and answers are not there at run time
    from types_boto3_ec2.type_defs import (
        FilterTypeDef,
        InstanceStatusEventTypeDef,
        InstanceStatusSummaryTypeDef,
        InstanceStatusTypeDef,
    )

_PAGE: Final = 1000
_IMPAIRED: Final = "impaired"
_EVENTS: Final = (
    "instance-reboot",
    "instance-retirement",
    "instance-stop",
    "system-maintenance",
    "system-reboot",
)
# An event that is over, or called off, is told of for a while: its description begins so.
_OVER: Final = ("[Completed]", "[Canceled]")


class InstanceStatuses:
    """Impairments of the instances of an account in a region. Threads may share it."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def impairments(self) -> tuple[Impairment, ...]:
        """Return what is wrong with which instances, of whomever, sorted.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says.
        """
        return tuple(sorted({*self._unwell(), *self._planned()}, key=_order))

    def _unwell(self) -> Iterator[Impairment]:
        for found in self._ask(matching("instance-status.status", (_IMPAIRED,))):
            yield _failed(found, InterruptionKind.INSTANCE_STATUS, found.get("InstanceStatus"))
        for found in self._ask(matching("system-status.status", (_IMPAIRED,))):
            yield _failed(found, InterruptionKind.SYSTEM_STATUS, found.get("SystemStatus"))

    def _planned(self) -> Iterator[Impairment]:
        for found in self._ask(matching("event.code", _EVENTS)):
            events = [event for event in found.get("Events", ()) if _to_come(event)]
            if events:
                yield Impairment(
                    instance_id=found.get("InstanceId", ""),
                    kind=InterruptionKind.EVENT_STATUS,
                    deadline=min((e["NotBefore"] for e in events if "NotBefore" in e), default=None),
                )

    def _ask(self, which: FilterTypeDef) -> Iterator[InstanceStatusTypeDef]:
        ask = partial(self._aws.clients.ec2.describe_instance_status, Filters=[which], MaxResults=_PAGE)
        for page in self._aws.pages("ec2", "DescribeInstanceStatus", ask):
            yield from page.get("InstanceStatuses", ())


def _failed(
    found: InstanceStatusTypeDef, kind: InterruptionKind, summary: InstanceStatusSummaryTypeDef | None
) -> Impairment:
    details = summary.get("Details", ()) if summary is not None else ()
    since: list[datetime] = [one["ImpairedSince"] for one in details if "ImpairedSince" in one]
    return Impairment(instance_id=found.get("InstanceId", ""), kind=kind, since=min(since, default=None))


def _to_come(event: InstanceStatusEventTypeDef) -> bool:
    return event.get("Code") in _EVENTS and not event.get("Description", "").startswith(_OVER)


def _order(impairment: Impairment) -> tuple[str, str]:
    return impairment.instance_id, impairment.kind.value
