"""Requirements of pods' volumes and resource claims: topology and attachments, as Karpenter reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, TypeAlias

from treenail.domain.cluster.attachments import Attachment
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.device_claims import device_nodes
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, Pod, PodVolume
from treenail.domain.model.requirements import ANYTHING, Requirement, Requirements
from treenail.domain.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from treenail.domain.packing.problem import VolumeNeeds

Alternatives: TypeAlias = tuple[Requirements, ...]

_ANYWHERE: Final[Alternatives] = (ANYTHING,)
# Labels of a volume that say where it is; there may be several places in a value.
_PLACES: Final = (
    labels.ZONE,
    labels.REGION,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_BETWEEN_PLACES: Final = "__"
_MOST_REMEMBERED: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The demand of one volume of a pod. It is `known`, or to be made (`fresh`, by a driver), or neither."""

    alternatives: Alternatives = _ANYWHERE
    known: Attachment | None = None
    fresh: str = ""
    problem: str = ""


class VolumeResolver:
    """Finds the requirements of pods' volumes and claims in the present storage, and caches them."""

    def __init__(self, storage: StorageBook) -> None:
        self._storage = storage
        # With the object it was read from, as long as that is the one in use.
        self._places: dict[tuple[type, str], tuple[PersistentVolume | StorageClass, Alternatives]] = {}
        self._met: dict[tuple[Alternatives, ...], Alternatives] = {}

    def needs(self, pods: Iterable[Pod], *, counted: bool = False) -> dict[str, VolumeNeeds]:
        """Return the needs of those of `pods` that have any, by uid. Equal ones are one object.

        Unless devices are `counted`, by whoever asks, pods whose resource claims have none are refused.
        """
        if len(self._places) + len(self._met) > _MOST_REMEMBERED:
            self._places, self._met = {}, {}
        known: dict[VolumeNeeds, VolumeNeeds] = {}
        having = (pod for pod in pods if pod.spec.volumes or pod.spec.resource_claims)
        found = ((pod.uid, self._with_devices(pod, self._needs_of(pod), counted)) for pod in having)
        return {uid: known.setdefault(needs, needs) for uid, needs in found}

    def _with_devices(self, pod: Pod, volumes: VolumeNeeds, counted: bool) -> VolumeNeeds:  # noqa: FBT001
        if not pod.spec.resource_claims:
            return volumes
        nodes, problem = device_nodes(pod, self._storage, self._meet, counted=counted)
        reached = self._meet((volumes.alternatives, nodes))
        if not reached and not problem:
            problem = "its volumes cannot be reached from where the devices of its resource claims are"
        return replace(volumes, alternatives=reached or _ANYWHERE, device_nodes=nodes, device_problem=problem)

    def _needs_of(self, pod: Pod) -> VolumeNeeds:
        found = [self._find(pod, volume) for volume in pod.spec.volumes]
        problem = next((one.problem for one in found if one.problem), "")
        alternatives = self._meet(tuple(one.alternatives for one in found))
        if not alternatives and not problem:
            names = ", ".join(v.claim_name or v.name for v in pod.spec.volumes)
            problem = f"no place reaches all of its volumes: {names}"
        fresh: dict[str, int] = {}
        for one in found:
            if one.fresh:
                fresh[one.fresh] = fresh.get(one.fresh, 0) + 1
        return VolumeNeeds(
            alternatives=alternatives or _ANYWHERE,
            known=tuple(sorted({one.known for one in found if one.known is not None})),
            fresh=tuple(sorted(fresh.items())),
            problem=problem,
        )

    # --- one volume

    def _find(self, pod: Pod, volume: PodVolume) -> _Found:
        if volume.driver:
            return _Found(known=(volume.driver, volume.handle))
        key = pod.claim_key(volume)
        claim = self._storage.claims.get(key)
        unread = self._storage.problem(Kind.PERSISTENT_VOLUME_CLAIM, key)
        if claim is None and volume.ephemeral and not unread:
            # The claim is made after the pod, which need not wait for it here.
            return self._to_be_made(key, volume.storage_class)
        if claim is None:
            return self._missing(Kind.PERSISTENT_VOLUME_CLAIM, key, f"the claim {key} is not there")
        if claim.deleting:
            return _Found(problem=f"the claim {key} is being deleted")
        if claim.lost:
            return _Found(problem=f"the claim {key} has lost its volume {claim.volume_name}")
        if claim.volume_name:
            return self._bound(claim)
        return self._to_be_made(key, claim.storage_class)

    def _bound(self, claim: PersistentVolumeClaim) -> _Found:
        named = f"the volume {claim.volume_name} of the claim {claim.key}"
        if not claim.bound:
            return _Found(
                problem=f"the claim {claim.key} is still being bound to the volume {claim.volume_name}"
            )
        volume = self._storage.volumes.get(claim.volume_name)
        if volume is None:
            return self._missing(Kind.PERSISTENT_VOLUME, claim.volume_name, f"{named} is not there")
        if volume.deleting:
            return _Found(problem=f"{named} is being deleted")
        known = (volume.driver, volume.handle) if volume.driver else None
        return _Found(alternatives=self._places_of(volume), known=known)

    def _places_of(self, thing: PersistentVolume | StorageClass) -> Alternatives:
        key = (type(thing), thing.name)
        known = self._places.get(key)
        if known is None or known[0] is not thing:
            if isinstance(thing, PersistentVolume):
                places = places_of(thing)
            else:
                places = _alternatives(thing.allowed_topologies)
            known = self._places[key] = thing, places
        return known[1]

    def _to_be_made(self, key: str, class_name: str | None) -> _Found:
        if class_name == "":
            return _Found(problem=f"the claim {key} is bound to no volume and names no StorageClass")
        found = self._storage.class_of(class_name)
        if found is None:
            missing = (
                f"the StorageClass {class_name} of the claim {key} is not there"
                if class_name is not None
                else f"the claim {key} names no StorageClass, and none is the default"
            )
            return self._missing(Kind.STORAGE_CLASS, class_name or "", missing)
        if not found.waits_for_pod:
            return _Found(
                problem=f"the claim {key} is not bound, and its StorageClass {found.name} waits for no pod"
            )
        alternatives = self._places_of(found)
        if self._storage.shared(key):
            known = (found.driver, key) if found.driver else None
            return _Found(alternatives=alternatives, known=known)
        return _Found(alternatives=alternatives, fresh=found.driver)

    def _missing(self, kind: Kind, key: str, problem: str) -> _Found:
        unread = self._storage.problem(kind, key)
        if unread:
            return _Found(problem=f"the {kind.value} {key} cannot be read: {unread}")
        if kind in self._storage.unreadable:
            return _Found(problem=f"what its volumes need is not known, as no {kind.value} can be read")
        return _Found(problem=problem)

    # --- several

    def _meet(self, lots: tuple[Alternatives, ...]) -> Alternatives:
        """Return where several volumes can all be reached: one alternative of each, if they agree."""
        lots = tuple(lot for lot in lots if lot is not _ANYWHERE and lot != _ANYWHERE)
        if lots not in self._met:
            self._met[lots] = reduce(_both, lots, _ANYWHERE)
        return self._met[lots]


def places_of(volume: PersistentVolume) -> Alternatives:
    """Return the requirements of the places from which a volume can be reached.

    For a volume that lives on a node, the node itself is left out: an equal node may replace it.
    """
    alternatives = _alternatives(volume.node_affinity, but=labels.HOSTNAME if volume.on_node else "")
    said = Requirements(
        Requirement(labels.normalized(key), frozenset(volume.labels[key].split(_BETWEEN_PLACES)))
        for key in _PLACES
        if volume.labels.get(key)
    )
    return _both(alternatives, (said,)) if said else alternatives


def _alternatives(terms: Iterable[tuple[Expression, ...]], *, but: str = "") -> Alternatives:
    """Return OR-ed terms as requirements, those on the label `but` left out; no term is no demand."""
    read = (Requirements(r for e in term if (r := e.requirement()).key != but) for term in terms)
    return tuple(dict.fromkeys(read)) or _ANYWHERE


def _both(some: Alternatives, others: Alternatives) -> Alternatives:
    pairs = (one.with_(other) for one in some for other in others if one.intersects(other))
    return tuple(dict.fromkeys(pairs))
