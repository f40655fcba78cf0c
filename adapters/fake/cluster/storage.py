"""Storage and claims on devices: the nodes that reach those of a pod, and volumes made when it is bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from treenail.adapters.fake.cluster.accounts import NodeAccount
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.devices import Devices
from treenail.adapters.fake.cluster.objects import Change, address_of
from treenail.domain.cluster.attachments import attachable, attached
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.storage_book import OF_DEVICES, StorageBook
from treenail.domain.cluster.volumes import VolumeResolver
from treenail.domain.model import labels
from treenail.domain.model.devices import DeviceClass, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Expression, Pod
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

# Says why a pod's volumes keep it off a node, "" where they do not.
Hindrance: TypeAlias = Callable[[NodeAccount], str]
_Topology: TypeAlias = tuple[tuple[Expression, ...], ...]

_MADE: Final = "pvc-"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
KINDS: Final = (
    Kind.PERSISTENT_VOLUME_CLAIM,
    Kind.PERSISTENT_VOLUME,
    Kind.STORAGE_CLASS,
    Kind.CSI_NODE,
    Kind.RESOURCE_CLAIM,
    *OF_DEVICES,
)


class Storage:
    """Makes volumes for claims: at once, or where the first pod goes, as their class says.

    A volume made here goes with its claim, and an ephemeral claim with its pod. Resource claims are reserved
    for the pods that are bound, and lose their devices with the last of them.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._store = plane.store
        self._book = StorageBook(follows_claims=True)
        self._resolver = VolumeResolver(self._book)
        self._at_once = DelayedWork[str](plane, plane.settings.control, self._make_at_once)
        plane.store.listen(self._changed, *KINDS)
        plane.store.listen(self._pod_changed, Kind.POD)
        # Told last: what it asks of objects is in the book by then, and claims that it removes are released.
        self._devices = Devices(plane, self._book)

    def hindrance(self, pod: Pod) -> Hindrance:
        """Return a function that says whether a node can reach the volumes and devices of `pod` now."""
        # Claims may have been made for it since it came.
        now = self._store.by_uid(pod.uid)
        pod = now if isinstance(now, Pod) else pod
        needs = self._resolver.needs((pod,), counted=True)[pod.uid]

        def check(account: NodeAccount) -> str:
            if needs.device_problem or needs.problem:
                return needs.device_problem or needs.problem
            if not any(account.described.compatible(one) for one in needs.device_nodes):
                return "cannot use the allocated devices of its resource claims"
            allocation = self._devices.allocation(pod, account.name) if pod.spec.resource_claims else {}
            if isinstance(allocation, str):
                return allocation
            if not any(account.described.compatible(one) for one in needs.alternatives):
                return "node(s) had volume node affinity conflict"
            there = attached(self._book, (p for p in account.pods.values() if p.bound))
            wanted = dict(needs.fresh)
            for driver, handle in needs.known:
                wanted[driver] = wanted.get(driver, 0) + ((driver, handle) not in there)
            left = attachable(self._book.limits(account.name), there)
            if any(count > left.get(driver, count) for driver, count in wanted.items()):
                return "node(s) exceed max volume count"
            return ""

        return check

    def provide(self, pod: Pod, node: Node) -> None:
        """Make the volumes of `pod` that waited for it, where `node` is, and reserve its resource claims."""
        if pod.spec.resource_claims:
            self._devices.allocate(pod, node.name)
            self._reserve(pod)
        zone = node.labels.get(labels.ZONE)
        where: _Topology = ((Expression(labels.ZONE, Operator.IN, (zone,)),),) if zone else ()
        for volume in pod.spec.volumes:
            if volume.driver:
                continue
            claim = self._book.claims.get(pod.claim_key(volume))
            if claim is None and volume.ephemeral:
                name = f"{pod.name}-{volume.name}"
                claim = self._store.add(
                    PersistentVolumeClaim(
                        name=name, namespace=pod.namespace, storage_class=volume.storage_class
                    )
                )
            if claim is not None and not claim.volume_name:
                self._make(claim, where)

    def _reserve(self, pod: Pod) -> None:
        for key in pod.resource_claim_keys:
            claim = self._book.resource_claims.get(key)
            if claim is not None and pod.uid not in claim.users:
                self._store.put(replace(claim, users=(*claim.users, pod.uid)))

    def _release(self, pod: Pod) -> None:
        for key in pod.resource_claim_keys:
            claim = self._book.resource_claims.get(key)
            if claim is not None and pod.uid in claim.users:
                users = tuple(uid for uid in claim.users if uid != pod.uid)
                nodes = claim.nodes if users else ()
                devices = claim.devices if users else ()
                self._store.put(
                    replace(claim, users=users, allocated=bool(users), nodes=nodes, devices=devices)
                )

    def _make(self, claim: PersistentVolumeClaim, where: _Topology) -> None:
        of = self._book.class_of(claim.storage_class)
        if of is None:
            return
        made = self._store.add(
            PersistentVolume(
                name=f"{_MADE}{claim.uid}",
                storage_class=of.name,
                capacity=claim.requested,
                access_modes=claim.access_modes,
                claim=claim.key,
                driver=of.driver,
                handle=f"vol-{claim.uid}",
                node_affinity=where,
            )
        )
        annotations = {**claim.annotations, _BIND_COMPLETED: "yes"}
        bound = replace(
            claim, volume_name=made.name, bound=True, storage_class=of.name, annotations=annotations
        )
        self._store.put(bound)

    def _make_at_once(self, key: str) -> None:
        claim = self._book.claims.get(key)
        of = self._book.class_of(claim.storage_class) if claim is not None else None
        if claim is not None and of is not None and not claim.volume_name and not of.waits_for_pod:
            self._make(claim, of.allowed_topologies[:1])

    # --- keeping up

    def _changed(self, change: Change) -> None:
        if isinstance(change.before, DeviceTaintRule):
            # Its key has the version: applied in another one it has another key.
            self._book.remove(Kind.DEVICE_TAINT_RULE, change.before.key)
        match change.after:
            case PersistentVolumeClaim() | PersistentVolume() | StorageClass() | CSINode():
                self._book.put(change.after)
            case ResourceClaim() | DeviceClass() | ResourceClaimTemplate():
                self._book.put(change.after)
            case ResourceSlice() | DeviceTaintRule():
                self._book.put(change.after)
            case None if isinstance(change.before, DeviceTaintRule):
                pass
            case _:
                self._book.remove(Kind(change.kind), change.address[1])
        match change.before, change.after:
            case _, PersistentVolumeClaim(volume_name=""):
                self._at_once.add(change.after.key)
            case _, StorageClass():
                for key in tuple(self._book.claims):
                    self._at_once.add(key)
            case PersistentVolumeClaim(), None:
                self._let_go(change.before)

    def _let_go(self, claim: PersistentVolumeClaim) -> None:
        volume = self._book.volumes.get(claim.volume_name)
        if volume is not None and volume.name.startswith(_MADE) and volume.claim == claim.key:
            self._store.remove(address_of(volume))

    def _pod_changed(self, change: Change) -> None:
        if isinstance(change.after, Pod):
            self._book.use(change.after)
            if change.after.terminal:
                self._release(change.after)
        elif isinstance(change.before, Pod):
            self._book.leave(change.before)
            self._release(change.before)
            for volume in change.before.spec.volumes:
                claim = self._book.claims.get(change.before.claim_key(volume))
                if volume.ephemeral and claim is not None:
                    self._store.remove(address_of(claim))
