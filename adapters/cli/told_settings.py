"""Settings of a rehearsal or a simulation: from options, and from a ConfigMap among the manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Final, TypeAlias

import typer

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.documents import Manifest
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.embed.told_settings import settings_of
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import VARIABLES, Settings
from treenail.adapters.settings.sources import SettingError

# What decides about nodes and pods. The others say where the outside is, or how the process runs.
_DECIDING: Final = (
    "CLUSTER_NAME",
    "AWS_TAGS",
    "BATCH_IDLE_DURATION",
    "BATCH_MAX_DURATION",
    "CONSOLIDATION",
    "CONSOLIDATION_PAYBACK",
    "DELETE_PODS_AT_DEADLINE",
    "EARLY_BINDING",
    "FEATURE_GATES",
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

SettingsSaid: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        metavar="NAME=VALUE",
        help="A setting of the controller, such as CONSOLIDATION=off; may be given more than once.",
    ),
]
_NOTHING: Final[Mapping[str, str]] = {}


def said_by(written: Sequence[str] | None, option: str = "--setting") -> dict[str, str]:
    """Return the settings that such options say, by variable.

    Raises:
        BadInputError: one is not NAME=VALUE, or its name is none of those that decide something here.
    """
    said: dict[str, str] = {}
    for one in written or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise BadInputError(f"{option} {one!r} is not NAME=VALUE, such as CONSOLIDATION=off")
        if name not in _DECIDING:
            raise BadInputError(f"{option} {one!r}: {_why_not(name)}")
        said[name] = value
    return said


def _why_not(name: str) -> str:
    if any(name == variable.name for variable in VARIABLES):
        return f"{name} changes nothing where no cluster and no AWS is asked"
    near = get_close_matches(name.upper(), _DECIDING, n=1)
    return f"there is no setting {name}" + (f"; did you mean {near[0]}?" if near else "")


def told_by(decoded: Decoded, manifests: Sequence[Manifest], said: Mapping[str, str] = _NOTHING) -> Settings:
    """Return the settings that are `said`, else those of the ConfigMap `karpenter-global-settings`.

    `decoded` is the translation of the manifests.

    Raises:
        BadInputError: a value cannot be read or followed.
    """
    try:
        return settings_of(decoded, said)
    except SettingError as error:
        if str(error).partition(":")[0] in said:
            raise BadInputError(f"--setting {error}") from None
        files = [one.file for one in manifests if (one.kind, one.name) == ("ConfigMap", NAME)]
        raise BadInputError(": ".join((*files[:1], str(error)))) from None
