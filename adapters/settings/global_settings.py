"""The ConfigMap `karpenter-global-settings` of Karpenter before v0.32: settings by its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAME: Final = "karpenter-global-settings"

# The variable of each key. Those of Karpenter's charts are all there.
VARIABLES_OF_KEYS: Final[Mapping[str, str]] = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "aws.assumeRoleARN": "ASSUME_ROLE_ARN",
    "aws.clusterCABundle": "CLUSTER_CA_BUNDLE",
    "aws.clusterEndpoint": "CLUSTER_ENDPOINT",
    "aws.clusterName": "CLUSTER_NAME",
    "aws.defaultInstanceProfile": "AWS_DEFAULT_INSTANCE_PROFILE",
    "aws.interruptionQueueName": "INTERRUPTION_QUEUE",
    "aws.isolatedVPC": "ISOLATED_VPC",
    "aws.reservedENIs": "RESERVED_ENIS",
    "aws.tags": "AWS_TAGS",
    "aws.vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
}
# Keys that change nothing here, with their defaults.
IGNORED_KEYS: Final[Mapping[str, str]] = {
    "aws.assumeRoleDuration": "15m",
    "aws.enableENILimitedPodDensity": "true",
    "aws.enablePodENI": "false",
    "aws.nodeNameConvention": "ip-name",
    "featureGates.driftEnabled": "false",
}
_KEYS: Final = {variable: key for key, variable in VARIABLES_OF_KEYS.items()}


def variables_of(data: Mapping[str, str]) -> dict[str, str]:
    """Return what the map's `data` says, by variable."""
    return {variable: data[key] for key, variable in VARIABLES_OF_KEYS.items() if data.get(key)}


def place_of(variable: str) -> str:
    """Return where the map says a variable that has a key there, for complaints."""
    return f"ConfigMap {NAME}: data[{_KEYS[variable]}]"


def warnings_of(data: Mapping[str, str]) -> tuple[str, ...]:
    """Return which keys of the map change nothing, one line each, sorted by key."""
    return tuple(
        f"ConfigMap {NAME}: data[{key}] is set to {value!r}, which changes nothing here"
        for key, value in sorted(data.items())
        if key not in VARIABLES_OF_KEYS and value not in {"", IGNORED_KEYS.get(key, "")}
    )
