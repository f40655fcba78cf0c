"""Volume attachments of a node: which volumes are attached, and how many more can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model.pods import Pod, PodVolume

# A volume that takes a place on a node: its driver, and what the driver calls it. One that is still to be
# made is called after its claim.
Attachment: TypeAlias = tuple[str, str]


def attached(storage: StorageBook, pods: Iterable[Pod]) -> frozenset[Attachment]:
    """Return the volumes of pods that have their place, whatever becomes of their claims."""
    return frozenset(
        taken
        for pod in pods
        for volume in pod.spec.volumes
        if (taken := _attachment(storage, pod, volume)) is not None
    )


def _attachment(storage: StorageBook, pod: Pod, volume: PodVolume) -> Attachment | None:
    if volume.driver:
        return volume.driver, volume.handle
    key = pod.claim_key(volume)
    claim = storage.claims.get(key)
    if claim is not None and claim.volume_name:
        made = storage.volumes.get(claim.volume_name)
        return (made.driver, made.handle) if made is not None and made.driver else None
    by = storage.class_of(volume.storage_class if claim is None else claim.storage_class)
    return (by.driver, key) if by is not None and by.driver else None


def attachable(limits: Mapping[str, int], there: Iterable[Attachment]) -> dict[str, int]:
    """Return how many volumes can still be attached beside those `there`, by driver, where it is limited."""
    taken: dict[str, int] = {}
    for driver, _ in there:
        taken[driver] = taken.get(driver, 0) + 1
    return {driver: max(0, most - taken.get(driver, 0)) for driver, most in sorted(limits.items())}
