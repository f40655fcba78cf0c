"""Storage objects and resource claims by name, and the pods that use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, StorageObject
from treenail.domain.cluster.device_book import DeviceBook
from treenail.domain.model.devices import DeviceClass, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.storage import (
    CSI_DRIVERS,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    default_class,
)

OF_DEVICES: Final = (
    Kind.DEVICE_CLASS,
    Kind.RESOURCE_CLAIM_TEMPLATE,
    Kind.RESOURCE_SLICE,
    Kind.DEVICE_TAINT_RULE,
)
_NOBODY: Mapping[str, None] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """Whom a change may matter to: the users of a storage or resource claim, a node by name, or anybody.

    Where `devices` are others, pods with claims on some; `device_nodes` are those whose devices changed.
    """

    claim: str = ""
    resource_claim: str = ""
    node: str = ""
    anybody: bool = False
    devices: bool = False
    device_nodes: tuple[str, ...] = ()


class StorageBook:
    """Claims by namespace/name, volumes, classes and storage nodes by name, and the pods of each claim.

    `unreadable` are the kinds that we may not see, `aside` the objects, of any kind, that are not understood.
    Claims on devices, by namespace/name, say where pods may run only where it `follows_claims`.
    """

    def __init__(
        self,
        aside: Mapping[tuple[Kind, str], ObjectSetAside] | None = None,
        *,
        follows_claims: bool = False,
    ) -> None:
        self._aside = aside if aside is not None else {}
        self.follows_claims = follows_claims
        self.resource_claims: dict[str, ResourceClaim] = {}
        self.devices = DeviceBook(self._aside)
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.unreadable: frozenset[Kind] = frozenset()
        self._users: dict[str, dict[str, None]] = {}
        self._device_users: dict[str, dict[str, None]] = {}

    # --- changing it

    def put(self, thing: StorageObject) -> Affected:
        """Keep the present state of an object."""
        match thing:
            case PersistentVolumeClaim():
                self.claims[thing.key] = thing
                return Affected(claim=thing.key)
            case PersistentVolume():
                self.volumes[thing.name] = thing
                return Affected(claim=thing.claim)
            case StorageClass():
                self.classes[thing.name] = thing
                return Affected(anybody=True)
            case CSINode():
                self.csi_nodes[thing.name] = thing
                return Affected(node=thing.name)
            case DeviceClass() | ResourceClaimTemplate() | ResourceSlice() | DeviceTaintRule():
                return Affected(devices=True, device_nodes=self.devices.put(thing))
            case ResourceClaim():
                self.resource_claims[thing.key] = thing
                return Affected(resource_claim=thing.key)

    def remove(self, kind: Kind, key: str) -> Affected:
        """Forget an object."""
        match kind:
            case Kind.PERSISTENT_VOLUME_CLAIM:
                self.claims.pop(key, None)
                return Affected(claim=key)
            case Kind.PERSISTENT_VOLUME:
                volume = self.volumes.pop(key, None)
                return Affected(claim=volume.claim if volume is not None else "")
            case Kind.RESOURCE_CLAIM:
                self.resource_claims.pop(key, None)
                return Affected(resource_claim=key)
            case _ if kind in OF_DEVICES:
                return Affected(devices=True, device_nodes=self.devices.remove(kind, key))
            case Kind.STORAGE_CLASS:
                return Affected(anybody=self.classes.pop(key, None) is not None)
            case _:
                self.csi_nodes.pop(key, None)
                return Affected(node=key)

    def volumes_of(self, pods: Iterable[Pod]) -> dict[str, tuple[str, ...]]:
        """Return the names of the persistent volumes of pods that use any, by uid of the pod."""
        named = ((pod.uid, [self.claims.get(key) for key in pod.claim_keys]) for pod in pods)
        volumes = {
            uid: tuple(claim.volume_name for claim in claims if claim is not None and claim.volume_name)
            for uid, claims in named
        }
        return {uid: names for uid, names in volumes.items() if names}

    def use(self, pod: Pod) -> None:
        """Note that a pod uses its claims, or that a terminal one does not any more."""
        if pod.terminal:
            self.leave(pod)
            return
        for users, key in self._used_by(pod):
            users.setdefault(key, {})[pod.uid] = None

    def leave(self, pod: Pod) -> None:
        """Note that a pod is gone."""
        for users, key in self._used_by(pod):
            left = users.get(key, {})
            left.pop(pod.uid, None)
            if not left:
                users.pop(key, None)

    def _used_by(self, pod: Pod) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        """Yield each claim that a pod uses, after the users of all claims of that kind."""
        if pod.spec.volumes:
            yield from ((self._users, key) for key in pod.claim_keys)
        if pod.spec.resource_claims:
            yield from ((self._device_users, key) for key in pod.resource_claim_keys)

    # --- asking it

    def class_of(self, name: str | None) -> StorageClass | None:
        """Return the class that a claim names; the default one where it names none."""
        return default_class(self.classes) if name is None else self.classes.get(name)

    def limits(self, node: str) -> Mapping[str, int]:
        """Return the most volumes that can be attached to a node, by driver, where there are limits.

        Where what a node says of that cannot be read, none can, of any driver that anybody uses.
        """
        known = self.csi_nodes.get(node)
        if known is not None:
            return known.limits
        return dict.fromkeys(self._drivers(), 0) if self.problem(Kind.CSI_NODE, node) else {}

    def _drivers(self) -> tuple[str, ...]:
        used = {one.driver for one in self.classes.values()} | {one.driver for one in self.volumes.values()}
        return tuple(sorted(used.union(CSI_DRIVERS.values()) - {""}))

    def problem(self, kind: Kind, key: str) -> str:
        """Return what is wrong with an object that is there and was never understood; "" where none is."""
        aside = self._aside.get((kind, key))
        return aside.problem if aside is not None else ""

    def unclear_ones(self, of: Kind) -> tuple[str, ...]:
        """Return the objects of a kind that are there and not understood, by their keys, sorted."""
        return tuple(sorted(key for kind, key in self._aside if kind is of))

    def unclear(self, kind: Kind, key: str) -> Affected:
        """Return whom it may matter to that an object cannot be understood."""
        match kind:
            case Kind.PERSISTENT_VOLUME_CLAIM:
                return Affected(claim=key)
            case Kind.PERSISTENT_VOLUME | Kind.STORAGE_CLASS:
                return Affected(anybody=True)
            case Kind.CSI_NODE:
                return Affected(node=key)
            case Kind.RESOURCE_CLAIM:
                return Affected(resource_claim=key)
            case _ if kind in OF_DEVICES:
                return Affected(devices=True)
            case _:
                return Affected()

    def users(self, claim: str) -> tuple[str, ...]:
        """Return the uids of the pods that use a claim, in the order they came."""
        return tuple(self._users.get(claim, _NOBODY))

    def device_users(self, claim: str) -> tuple[str, ...]:
        """Return the uids of the pods that use a claim on devices, in the order they came."""
        return tuple(self._device_users.get(claim, _NOBODY))

    def shared(self, claim: str) -> bool:
        """Return whether more than one pod uses a claim."""
        return len(self._users.get(claim, _NOBODY)) > 1
