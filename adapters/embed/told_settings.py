"""Settings from the ConfigMap `karpenter-global-settings` among manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import Settings
from treenail.adapters.settings.sources import read_settings

_CLUSTER: Final = "demo"
_NOTHING: Final[Mapping[str, str]] = {}


def settings_of(decoded: Decoded, said: Mapping[str, str] = _NOTHING) -> Settings:
    """Return what is `said` by variable, else what the first ConfigMap of that name says, else the defaults.

    A cluster without a name is demo.

    Raises:
        SettingError: a value cannot be read or followed.
    """
    data = next((one.data for one in decoded.config_maps if one.name == NAME), {})
    return read_settings(said, {}, {"aws.clusterName": _CLUSTER} | {k: v for k, v in data.items() if v})


def sizes_of(settings: Settings) -> NodeSizing:
    """Return what of the settings sizes nodes."""
    return NodeSizing(
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent, reserved_enis=settings.reserved_enis
    )
