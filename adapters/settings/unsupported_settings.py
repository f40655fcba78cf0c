"""Karpenter's settings that have no effect here, and those that are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from treenail.adapters.settings import values

# Karpenter's feature gates, with their defaults.
GATES: Final = {
    "CapacityBuffer": False,
    # Up to v0.37, whose chart always names it: nodes drift here in any case.
    "Drift": True,
    "NodeOverlay": False,
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "StaticCapacity": False,
}

# The gates that are followed; the others change nothing here yet.
FOLLOWED: Final = frozenset(
    {
        "CapacityBuffer",
        "NodeOverlay",
        "NodeRepair",
        "ReservedCapacity",
        "SpotToSpotConsolidation",
        "StaticCapacity",
    }
)

# Settings of Karpenter's that a chart may well set, and that change nothing here, with their defaults.
IGNORED: Final[Mapping[str, str]] = {
    "ASSUME_ROLE_DURATION": "15m",
    "CPU_REQUESTS": "1000",
    "DISABLE_CONTROLLER_WARMUP": "true",
    "LOG_ERROR_OUTPUT_PATHS": "stderr",
    "MEMORY_LIMIT": "-1",
    "WEBHOOK_METRICS_PORT": "8001",
}

# How Karpenter is told up to v0.32 that no leader is to be elected.
ELECTION: Final[Mapping[str, Callable[[str], bool]]] = {
    "LEADER_ELECT": lambda written: not values.boolean(written),
}

# Settings of Karpenter's that cannot be followed, and must not be passed over: how they are read, and what to
# do instead. Those that say nothing, false or no gate do no harm.
REFUSED: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "ASSUME_ROLE_ARN": (
        values.text,
        "no role is assumed by a setting; give the pod that role, or a profile with role_arn by AWS_PROFILE",
    ),
    "AWS_FEATURE_GATES": (
        values.gates_on({"NodeClassCEL": False}),
        "expressions in node classes are not evaluated; write figures",
    ),
}
