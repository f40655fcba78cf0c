"""Settings of the controller in a rehearsal: by their variables, or from the ConfigMap among manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import VARIABLES, ProvisionFor, Settings
from treenail.adapters.settings.sources import SettingError, Sources, read_settings

# What decides about nodes and pods. The others say where the outside is, or how the process runs.
DECIDING: Final = (
    "CLUSTER_NAME",
    "AWS_TAGS",
    "BATCH_IDLE_DURATION",
    "BATCH_MAX_DURATION",
    "CONSOLIDATION",
    "CONSOLIDATION_PAYBACK",
    "DELETE_PODS_AT_DEADLINE",
    "EARLY_BINDING",
    "FEATURE_GATES",
    "IGNORE_DRA_REQUESTS",
    "MIN_VALUES_POLICY",
    "NODE_OVERHEAD_COST",
    "ON_CAPACITY_RESERVATION_INTERRUPTION",
    "ON_IMPAIRED_STATUS",
    "ON_INSTANCE_STATE_CHANGE",
    "ON_REBALANCE_RECOMMENDATION",
    "ON_SCHEDULED_CHANGE",
    "ON_SPOT_INTERRUPTION",
    "PACKING",
    "PACKING_ORDER",
    "PREFERENCE_POLICY",
    "PROVISION_FOR",
    "RESERVED_ENIS",
    "VM_MEMORY_OVERHEAD_PERCENT",
)
# Why others are refused, where more can be said than that they decide nothing.
_REFUSED: Final[Mapping[str, str]] = {
    "PRICE_OVERRIDES_FILE": "is --price-overrides-file here, and the `prices` of the conditions in a test",
    "SCHEDULER_CONFIG": "cannot be rehearsed: the scheduler of a rehearsal has no default constraints",
}
_CLUSTER: Final = "demo"
_NOTHING: Final[Mapping[str, str]] = {}


def check_name(name: str) -> None:
    """Check that a variable is that of a setting which decides something in a rehearsal.

    Raises:
        SettingError: it is none; the nearest is named.
    """
    if name in DECIDING:
        return
    if name in _REFUSED:
        raise SettingError(f"{name} {_REFUSED[name]}")
    if any(name == variable.name for variable in VARIABLES):
        raise SettingError(f"{name} changes nothing where no cluster and no AWS is asked")
    near = get_close_matches(name.upper(), DECIDING, n=1)
    raise SettingError(f"there is no setting {name}" + (f"; did you mean {near[0]}?" if near else ""))


def check_value(name: str, value: str) -> None:
    """Check that the value of a setting that decides something can be read.

    Raises:
        SettingError: it cannot.
    """
    [variable] = (one for one in VARIABLES if one.name == name)
    Sources({name: value}, {}).read(variable)


def check_said(said: Mapping[str, str]) -> None:
    """Check that what is said by variable has names of settings that decide something, and text as values.

    Raises:
        SettingError: it has not; a misspelt name is answered with the nearest.
    """
    for name, value in said.items():
        check_name(name)
        if not isinstance(value, str):
            raise SettingError(f"{name}: {value!r} is no text: values are written as in the environment")


def settings_of(decoded: Decoded, said: Mapping[str, str] = _NOTHING) -> Settings:
    """Return what is `said` by variable, else what the first ConfigMap of that name says, else the defaults.

    A cluster without a name is demo.

    Raises:
        SettingError: a value cannot be read or followed.
    """
    data = next((one.data for one in decoded.config_maps if one.name == NAME), {})
    return read_settings(said, {}, {"aws.clusterName": _CLUSTER} | {k: v for k, v in data.items() if v})


def settings_told(said: Mapping[str, str]) -> Settings:
    """Return what is `said` by variable, else the defaults; see `settings_of`.

    Raises:
        SettingError: there is no such setting, or its value cannot be read or followed.
    """
    check_said(said)
    return settings_of(Decoded(), said)


def cluster_told(settings: Settings, cluster: ClusterSettings) -> ClusterSettings:
    """Return how a cluster shows what is still to come, as the settings have it."""
    return replace(
        cluster,
        tells_workloads=settings.provision_for is ProvisionFor.WISHES,
        tells_buffers=settings.feature_gates["CapacityBuffer"],
    )


def sizes_of(settings: Settings) -> NodeSizing:
    """Return what of the settings sizes nodes."""
    return NodeSizing(
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent, reserved_enis=settings.reserved_enis
    )
