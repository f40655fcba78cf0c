"""Zones that the pods of a decision must be in, as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.pods import Pod
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.problem import VolumeNeeds
from treenail.domain.telemetry.series import Series
from treenail.domain.telemetry.state_metrics import SCHEDULER_PENDING_BY_ZONE

_ANY: Final = Requirement(labels.ZONE, complement=True)


def pending_by_zone(pods: tuple[Pod, ...], volumes: Mapping[str, VolumeNeeds]) -> Iterator[Series]:
    """Yield how many pods must be in each zone, as they and their volumes (by uid) say.

    Those that may be in several are called flexible; those that can be in no zone, none.
    """
    counts = Counter(_zone(pod, volumes.get(pod.uid, VolumeNeeds())) for pod in pods)
    for zone, number in sorted(counts.items()):
        where = {"controller": "provisioner", "zone": zone}
        yield Series(SCHEDULER_PENDING_BY_ZONE, number, where)


def _zone(pod: Pod, needs: VolumeNeeds) -> str:
    both = _zones(pod.spec.alternatives()).intersection(_zones(needs.alternatives))
    if both.single is not None:
        return both.single
    return "flexible" if both.complement or both.values else "none"


def _zones(alternatives: Iterable[Requirements]) -> Requirement:
    """Return the zones that any of the alternatives allows; all zones if one of them names none."""
    allowed = [one.get(labels.ZONE, _ANY) for one in alternatives]
    if not allowed or any(one.complement for one in allowed):
        return allowed[0] if len(allowed) == 1 else _ANY
    return Requirement(labels.ZONE, frozenset[str]().union(*(one.values for one in allowed)))
