"""What a call to the cloud is for: whose turn it is where not all can be made at once."""

from __future__ import annotations

from enum import IntEnum


class Purpose(IntEnum):
    """What a call is for, the most urgent first."""

    INTERRUPTION = 0
    PROVISIONING = 1
    DISRUPTION = 2
    HOUSEKEEPING = 3
