"""Instance types of Karpenter's KWOK provider: labels, and what each keeps for itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources

_OVERHEAD: Final = Overhead(kube_reserved=Resources.parse({"cpu": "100m", "memory": "10Mi"}))
_DEFAULT_PODS: Final = "110"
_PREFIX: Final = "karpenter.kwok.sh/instance-"
_SIZE_OF_AWS: Final = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")


def instance_type(
    name: str,
    *,
    architecture: str,
    operating_systems: Iterable[str],
    resources: Mapping[str, str],
    offerings: tuple[Offering, ...],
) -> InstanceType:
    """Return a type. Every one keeps 100m CPU and 10Mi for itself, and takes 110 pods unless it says else.

    Raises:
        ValueError: an amount is no quantity.
    """
    cpu, memory = resources.get("cpu", ""), resources.get("memory", "")
    described = {
        labels.INSTANCE_TYPE: {name},
        labels.ARCH: {architecture},
        labels.OS: set(operating_systems),
        labels.ZONE: {o.zone for o in offerings},
        labels.CAPACITY_TYPE: {o.capacity_type for o in offerings},
        _PREFIX + "cpu": {cpu},
        _PREFIX + "memory": {memory},
        _PREFIX + "size": {_size(name, cpu)},
        _PREFIX + "family": {_family(name)},
    }
    return InstanceType(
        name=name,
        requirements=Requirements(Requirement(k, frozenset(v)) for k, v in described.items()),
        capacity=Resources.parse({"pods": _DEFAULT_PODS, **resources}),
        overhead=_OVERHEAD,
        offerings=offerings,
    )


def _family(name: str) -> str:
    return re.split(r"[.-]", name)[0] if re.search(r"[.-]", name) else name[:1]


def _size(name: str, cpu: str) -> str:
    """Return the size that a name of AWS's form says, else the CPUs."""
    match = _SIZE_OF_AWS.fullmatch(name)
    return match[1] if match is not None else cpu
