"""Notices: EventBridge events about instances, as AWS documents them, sent to the interruption queue."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime

from treenail.adapters.fake.luck import uuid
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.model.fleets import InstanceState
from treenail.domain.model.instants import write_instant
from treenail.domain.model.runtime import Clock

_RETIREMENT = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"


class Notices:
    """Sends events about instances to the queue; without a queue, nowhere."""

    def __init__(
        self, clock: Clock, dice: random.Random, queue: FakeQueue | None, *, region: str, account: str
    ) -> None:
        self._clock = clock
        self._dice = dice
        self._queue = queue
        self._region = region
        self._account = account

    def spot_interruption(self, instance_id: str) -> None:
        """Warn that EC2 takes a spot instance back."""
        detail = {"instance-id": instance_id, "instance-action": "terminate"}
        self._ec2("EC2 Spot Instance Interruption Warning", instance_id, detail)

    def rebalance(self, instance_id: str) -> None:
        """Recommend to replace a spot instance, which is more likely than others to be interrupted."""
        self._ec2("EC2 Instance Rebalance Recommendation", instance_id, {"instance-id": instance_id})

    def state_change(self, instance_id: str, state: InstanceState) -> None:
        """Send the notice that an instance is in another state now."""
        detail = {"instance-id": instance_id, "state": state.value}
        self._ec2("EC2 Instance State-change Notification", instance_id, detail)

    def retirement(self, instance_ids: Sequence[str], starts_at: datetime) -> None:
        """Announce that the machines of instances are retired at a time."""
        event = uuid(self._dice)
        detail = {
            "eventArn": f"arn:aws:health:{self._region}::event/EC2/{_RETIREMENT}/{_RETIREMENT}_{event}",
            "service": "EC2",
            "eventTypeCode": _RETIREMENT,
            "eventTypeCategory": "scheduledChange",
            "eventScopeCode": "ACCOUNT_SPECIFIC",
            "communicationId": event,
            "startTime": format_datetime(starts_at, usegmt=True),
            "endTime": format_datetime(starts_at + timedelta(hours=2), usegmt=True),
            "lastUpdatedTime": format_datetime(self._clock.now(), usegmt=True),
            "statusCode": "upcoming",
            "eventRegion": self._region,
            "eventDescription": [
                {"language": "en_US", "latestDescription": "The hardware of your instances is retired."}
            ],
            "affectedEntities": [{"entityValue": i, "status": "PENDING"} for i in instance_ids],
            "affectedAccount": self._account,
            "page": "1",
            "totalPages": "1",
        }
        self._put("aws.health", "AWS Health Event", instance_ids, detail)

    def _ec2(self, detail_type: str, instance_id: str, detail: dict[str, str]) -> None:
        arn = f"arn:aws:ec2:{self._region}:{self._account}:instance/{instance_id}"
        self._put("aws.ec2", detail_type, (arn,), detail)

    def _put(self, source: str, detail_type: str, resources: Sequence[str], detail: object) -> None:
        if self._queue is None:
            return
        event = {
            "version": "0",
            "id": uuid(self._dice),
            "detail-type": detail_type,
            "source": source,
            "account": self._account,
            "time": write_instant(self._clock.now()),
            "region": self._region,
            "resources": list(resources),
            "detail": detail,
        }
        self._queue.put(json.dumps(event))
