"""Reasons for refusing a pod: for every pool the first predicate that failed, with its values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from treenail.domain.packing.remedies import Remedy


class Reason(StrEnum):
    """The predicates, in the order they are tried: of two, the later one came further."""

    NO_POOLS = "NoPools"
    POOL_NOT_READY = "PoolNotReady"
    RESOURCE_CLAIM = "ResourceClaim"
    VOLUME_CLAIM = "VolumeClaim"
    CONTRADICTORY_REQUIREMENTS = "ContradictoryRequirements"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    HOSTNAME_REQUIRED = "HostnameRequired"
    UNDEFINED_LABEL = "UndefinedLabel"
    INCOMPATIBLE_REQUIREMENT = "IncompatibleRequirement"
    OPERATING_SYSTEM_MISMATCH = "OperatingSystemMismatch"
    ARCHITECTURE_MISMATCH = "ArchitectureMismatch"
    WINDOWS_BUILD_MISMATCH = "WindowsBuildMismatch"
    VOLUME_TOPOLOGY = "VolumeTopology"
    DEVICE_TOPOLOGY = "DeviceTopology"
    NO_INSTANCE_TYPE_MATCHES = "NoInstanceTypeMatches"
    UNKNOWN_RESOURCE = "UnknownResource"
    NODE_FULL = "NodeFull"
    TOO_LARGE = "TooLarge"
    HOST_PORT_TAKEN = "HostPortTaken"
    VOLUME_LIMIT = "VolumeLimit"
    POD_AFFINITY_NAMESPACE = "PodAffinityNamespace"
    POD_AFFINITY = "PodAffinity"
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    OTHERS_ANTI_AFFINITY = "OthersAntiAffinity"
    TOPOLOGY_SPREAD = "TopologySpread"
    MIN_VALUES = "MinValues"
    NOT_SOLD = "NotSold"
    NO_CAPACITY = "NoCapacity"
    LIMIT_REACHED = "LimitReached"
    SET_ASIDE = "SetAside"


# Reasons that depend on where other pods are.
TOPOLOGY: Final = frozenset(
    {
        Reason.POD_AFFINITY_NAMESPACE,
        Reason.POD_AFFINITY,
        Reason.POD_ANTI_AFFINITY,
        Reason.OTHERS_ANTI_AFFINITY,
        Reason.TOPOLOGY_SPREAD,
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Values:
    """The values that a refusal is about, as a manifest writes them; what does not apply is empty.

    `about` is the label's key, the resource, the taint, the port, the volume or the topology key; `asked`
    what the pod (a limit: the smallest node) needs of it, `offered` what the pool or node has of it.
    `nearest` is of what there is the nearest to what is asked: a name that was probably meant, a value
    that would do, or the instance type that comes closest.
    """

    about: str = ""
    asked: str = ""
    offered: tuple[str, ...] = ()
    nearest: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """One pool's first reason against a class of pods, or one node's. Naming neither, it holds everywhere.

    `detail` is the sentence's end with its values: "the taint team=gpu:NoSchedule is not tolerated".
    """

    pool: str
    reason: Reason
    detail: str
    values: Values = Values()
    node: str = ""

    def __str__(self) -> str:
        if self.node:
            return f"node {self.node}: {self.detail}"
        return f"{self.pool}: {self.detail}" if self.pool else self.detail

    @property
    def progress(self) -> int:
        """The number of checks the pod passed, for comparison with other refusals."""
        return _ORDER[self.reason]


_ORDER = {reason: at for at, reason in enumerate(Reason)}


def furthest(refusals: Iterable[Refusal]) -> Refusal | None:
    """Return the refusal that came last in the order of predicates; of equal ones the first."""
    return max(refusals, key=lambda refusal: refusal.progress, default=None)


def sentence(
    refusals: tuple[Refusal, ...], nearest: Refusal | None = None, remedy: Remedy | None = None
) -> str:
    """Return the refusals as one line for a person.

    What came nearest is said first, then what would help, then the others, pools in the order they were
    tried: a line that is cut loses the least.
    """
    said = [_named(nearest)] if nearest is not None else []
    if remedy is not None:
        said.append(str(remedy))
    said += [_named(r) for r in refusals if r != nearest]
    return "; ".join(said)


def _named(refusal: Refusal) -> str:
    return f"{refusal.reason.value}: {refusal}"
