"""Limits of calls to EC2, as it counts them, and what the calls are for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from treenail.domain.model.purposes import Purpose
from treenail.domain.model.rate_limits import Limit

READING: Final = "reading"
CHANGING: Final = "changing"

# What EC2 grants an account in a region; other services grant more to the few calls we make there.
LIMITS: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        READING: Limit(20, 100),
        CHANGING: Limit(5, 50),
        "CreateTags": Limit(10, 100),
        "RunInstances": Limit(2, 5),
        "TerminateInstances": Limit(5, 100),
    }
)
# Of some actions EC2 counts what they are about too.
RESOURCES: Final[Mapping[str, Limit]] = MappingProxyType({"TerminateInstances": Limit(20, 1000)})
_READING_VERBS: Final = ("Describe", "Get", "List")
# What calls are for unless their caller says something else; those not named are needed to launch.
_PURPOSES: Final[Mapping[str, Purpose]] = MappingProxyType(
    {
        "DescribeInstances": Purpose.DISRUPTION,
        "TerminateInstances": Purpose.DISRUPTION,
        "CreateTags": Purpose.HOUSEKEEPING,
        "DeleteLaunchTemplate": Purpose.HOUSEKEEPING,
        "DescribeInstanceTypeOfferings": Purpose.HOUSEKEEPING,
        "DescribeInstanceTypes": Purpose.HOUSEKEEPING,
        "DescribeSpotPriceHistory": Purpose.HOUSEKEEPING,
        "GetProducts": Purpose.HOUSEKEEPING,
    }
)


def is_reading(action: str) -> bool:
    """Return whether an action changes nothing."""
    return action.startswith(_READING_VERBS)


def class_of(action: str) -> str:
    """Return the key of `LIMITS` that an action counts under."""
    if action in LIMITS:
        return action
    return READING if is_reading(action) else CHANGING


def purpose_of(action: str) -> Purpose:
    """Return the default purpose of an action's calls."""
    return _PURPOSES.get(action, Purpose.PROVISIONING)
