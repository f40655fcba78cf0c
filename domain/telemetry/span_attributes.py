"""Attributes of spans that several traces share, as OpenTelemetry's semantic conventions name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from treenail.domain.telemetry.tracing import Attribute

DECISION_ID: Final = "treenail.decision.id"
CLAIM: Final = "treenail.nodeclaim.name"
POOL: Final = "treenail.nodepool.name"
CAUSE: Final = "treenail.cause"
HURRIED: Final = "treenail.pods.hurried"
ERROR_TYPE: Final = "error.type"
REGION: Final = "cloud.region"

# Of "us-east-1a", "us-west-2-lax-1a" (a local zone) and "us-gov-east-1b" that is what comes before the zone.
_REGION: Final = re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9]+)(?:[a-z]|-[a-z]+-[0-9]+[a-z])")


def region_of_zone(zone: str) -> str:
    """Return the region that a zone of AWS is in by its name, "" where it is not named like one."""
    match = _REGION.fullmatch(zone)
    return match[1] if match is not None else ""


def in_zone(zone: str) -> dict[str, Attribute]:
    """Return where an instance is: its zone, and the region where that is known."""
    region = region_of_zone(zone)
    return {"cloud.availability_zone": zone, **({REGION: region} if region else {})}


def aws_call(service: str, action: str, zones: Iterable[str] = ()) -> dict[str, Attribute]:
    """Return what the client span of a call to AWS says; its region where the call is about `zones` of it."""
    regions = {region_of_zone(zone) for zone in zones} - {""}
    return {
        "rpc.system.name": "aws-api",
        "rpc.method": f"{service}/{action}",
        **({REGION: min(regions)} if len(regions) == 1 else {}),
    }
