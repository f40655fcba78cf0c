"""EventBridge's messages as AWS documents them, and messages that only look like them."""

from __future__ import annotations

import json
import random
from typing import Any

ACCOUNT = "123456789012"
SPOT = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
STATE = "EC2 Instance State-change Notification"
RESERVATION = "EC2 Capacity Reservation Instance Interruption Warning"
HEALTH = "AWS Health Event"


def message(kind: str, instance: str, **detail: Any) -> dict[str, Any]:
    """Return an event about one instance, in the year's first minute, whole as it comes from EventBridge."""
    about: dict[str, Any] = {"instance-id": instance}
    if kind in (SPOT, RESERVATION):
        about["instance-action"] = "terminate"
    if kind == HEALTH:
        about = {
            "eventArn": "arn:aws:health:us-east-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/x_1",
            "service": "EC2",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "eventTypeCategory": "scheduledChange",
            "eventScopeCode": "ACCOUNT_SPECIFIC",
            "startTime": "Thu, 15 Jan 2026 12:00:00 GMT",
            "eventDescription": [{"language": "en_US", "latestDescription": "It is to be retired."}],
            "affectedEntities": [{"entityValue": instance, "tags": {}}],
            "affectedAccount": ACCOUNT,
        }
    return {
        "version": "0",
        "id": "1e5527d7-bb36-4607-3370-4164db56a40e",
        "detail-type": kind,
        "source": "aws.health" if kind == HEALTH else "aws.ec2",
        "account": ACCOUNT,
        "time": "2026-01-01T00:00:00Z",
        "region": "us-east-1",
        "resources": [f"arn:aws:ec2:us-east-1:{ACCOUNT}:instance/{instance}"],
        "detail": {**about, **detail},
    }


def useless(dice: random.Random, number: int) -> list[str]:
    """Return so many messages that nothing follows from: foreign, cut off, with parts missing or wrong.

    Those that name an instance name one beginning with `i-wrong`.
    """
    kinds = (SPOT, REBALANCE, STATE, RESERVATION, HEALTH)
    return [_spoilt(dice, message(dice.choice(kinds), f"i-wrong{n}")) for n in range(number)]


def _spoilt(dice: random.Random, event: dict[str, Any]) -> str:
    text = json.dumps(event)
    odd: Any = dice.choice((None, 7, "", [], {}, "0", True, -1.5, "i", [None], "\ud83d", "1e999"))
    match dice.randrange(8):
        case 0:  # cut off
            return text[: dice.randrange(len(text) - 1)]
        case 1:  # not an event at all
            return dice.choice(("", "[]", "null", "{}", "nonsense", '"text"', "[" * 5000, "\x00", "12e4"))
        case 2:  # from somewhere else
            return json.dumps({**event, "source": dice.choice(("aws.s3", "com.example", ""))})
        case 3:  # of another kind or version
            field = dice.choice(("detail-type", "version", "source"))
            return json.dumps({**event, field: None if odd == "0" else odd})
        case 4:  # without a time
            return json.dumps({**event, "time": dice.choice(("yesterday", None, 3, "2026-01-01T00:00:00"))})
        case 5:  # without what it is about
            return json.dumps({**event, "detail": odd})
        case 6:  # about something that is no instance
            name: Any = dice.choice(("vol-1", "", 12, None, {}))
            about = {"instance-id": name, "affectedEntities": [{"entityValue": name}], "service": "RDS"}
            return json.dumps({**event, "detail": {**event["detail"], **about}})
        case _:  # wrapped by a topic
            return json.dumps({"Type": "Notification", "Message": text})
