"""EventBridge's events about instances, as AWS documents them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

_ACCOUNT: Final = "123456789012"
_RETIREMENT: Final = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"


class Notices:
    """Puts events on the account's bus; its rules take them to the queue."""

    def __init__(self, events: Any, *, region: str) -> None:
        self._events = events
        self._region = region

    def spot_warning(self, instance_id: str) -> None:
        detail = {"instance-id": instance_id, "instance-action": "terminate"}
        self._ec2("EC2 Spot Instance Interruption Warning", instance_id, detail)

    def rebalance(self, instance_id: str) -> None:
        self._ec2("EC2 Instance Rebalance Recommendation", instance_id, {"instance-id": instance_id})

    def state_change(self, instance_id: str, state: str) -> None:
        detail = {"instance-id": instance_id, "state": state}
        self._ec2("EC2 Instance State-change Notification", instance_id, detail)

    def retirement(self, instance_ids: Sequence[str], starts_at: datetime) -> None:
        event = str(uuid.uuid4())
        detail = {
            "eventArn": f"arn:aws:health:{self._region}::event/EC2/{_RETIREMENT}/{_RETIREMENT}_{event}",
            "service": "EC2",
            "eventTypeCode": _RETIREMENT,
            "eventTypeCategory": "scheduledChange",
            "eventScopeCode": "ACCOUNT_SPECIFIC",
            "communicationId": event,
            "startTime": _http_time(starts_at),
            "endTime": _http_time(starts_at + timedelta(hours=2)),
            "lastUpdatedTime": _http_time(datetime.now(UTC)),
            "statusCode": "upcoming",
            "eventRegion": self._region,
            "eventDescription": [
                {"language": "en_US", "latestDescription": "The hardware of your instances is retired."}
            ],
            "affectedEntities": [{"entityValue": i, "status": "PENDING"} for i in instance_ids],
            "affectedAccount": _ACCOUNT,
            "page": "1",
            "totalPages": "1",
        }
        self._put("aws.health", "AWS Health Event", list(instance_ids), detail)

    def _ec2(self, kind: str, instance_id: str, detail: dict[str, str]) -> None:
        arn = f"arn:aws:ec2:{self._region}:{_ACCOUNT}:instance/{instance_id}"
        self._put("aws.ec2", kind, [arn], detail)

    def _put(self, source: str, kind: str, resources: list[str], detail: object) -> None:
        event = {"Source": source, "DetailType": kind, "Resources": resources, "Detail": json.dumps(detail)}
        self._events.put_events(Entries=[event])


def _http_time(at: datetime) -> str:
    return format_datetime(at.astimezone(UTC), usegmt=True)
