"""Devices: claims made for pods, slices that a driver publishes, devices allocated to claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Change, address, address_of
from treenail.domain.cluster.device_claims import UnclearError, open_claims
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model import labels
from treenail.domain.model.device_selectors import Match, SelectorError, selector_of
from treenail.domain.model.devices import Device, DeviceId, DeviceRequest, ResourceSlice, Span, Traits
from treenail.domain.model.gpu_models import GPU_TRAITS, NVIDIA_DRIVER, gpus_by
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Expression, Pod
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resource_claims import ResourceClaim

# The devices of each claim of a pod, by what names the claim.
Allocation: TypeAlias = dict[str, tuple[DeviceId, ...]]

_MADE: Final = "-dra-"
# Seconds that a controller or a driver takes. No dice are thrown for it: clusters without devices have
# the same luck as before.
_DELAY: Final = 0.5


class Devices:
    """Does what three others do in a cluster: the controller of resource claims, a driver, the scheduler.

    The driver is NVIDIA's. It runs where a DeviceClass names it, and publishes one pool a node.
    """

    def __init__(self, plane: ControlPlane, book: StorageBook) -> None:
        self._store = plane.store
        self._book = book
        self._plane = plane
        plane.store.listen(self._pod_changed, "Pod")
        plane.store.listen(self._node_changed, "Node")
        plane.store.listen(self._known_changed, "DeviceClass", "ResourceClaimTemplate")

    def _later(self, work: Callable[[str], None], key: str) -> None:
        self._plane.later(_DELAY, partial(work, key))

    # --- the controller

    def _pod_changed(self, change: Change) -> None:
        if isinstance(change.after, Pod):
            if self._unmade(change.after):
                self._later(self._make_claims, change.after.uid)
        elif isinstance(change.before, Pod):
            for key in change.before.resource_claim_keys:
                claim = self._book.resource_claims.get(key)
                if claim is not None and claim.made_for == change.before.uid:
                    self._store.remove(address_of(claim))

    def _unmade(self, pod: Pod) -> bool:
        made = dict(pod.claims_made)
        return pod.active and any(c.template and c.name not in made for c in pod.spec.resource_claims)

    def _make_claims(self, uid: str) -> None:
        pod = self._store.by_uid(uid)
        if not isinstance(pod, Pod) or not self._unmade(pod):
            return
        made = dict(pod.claims_made)
        for asked in pod.spec.resource_claims:
            template = self._book.devices.templates.get(f"{pod.namespace}/{asked.template}")
            if asked.name in made or template is None:
                continue
            claim = ResourceClaim(
                name=f"{pod.name}-{asked.name}{_MADE}{len(made)}",
                namespace=pod.namespace,
                made_for=pod.uid,
                wishes=template.wishes,
            )
            made[asked.name] = self._store.add(claim).name
        if len(made) > len(pod.claims_made):
            self._store.put(replace(pod, claims_made=tuple(sorted(made.items()))))

    def _known_changed(self, change: Change) -> None:
        if change.after is None:
            return
        for thing in tuple(self._store.of_kind("Pod" if change.kind == "ResourceClaimTemplate" else "Node")):
            if isinstance(thing, Pod) and self._unmade(thing):
                self._later(self._make_claims, thing.uid)
            elif isinstance(thing, Node):
                self._later(self._publish_slice, thing.name)

    # --- the driver

    def _node_changed(self, change: Change) -> None:
        if isinstance(change.after, Node):
            before = change.before
            other = not isinstance(before, Node) or before.labels != change.after.labels
            if other and self._book.devices.classes:
                self._later(self._publish_slice, change.after.name)
        elif isinstance(change.before, Node):
            name = _slice_name(change.before.name)
            if name in self._book.devices.slices:
                self._store.remove(("ResourceSlice", name))

    def _publish_slice(self, node: str) -> None:
        there = self._store.find(address("Node", node))
        gpus = gpus_by(there.labels) if isinstance(there, Node) else None
        named = any(NVIDIA_DRIVER in s for c in self._book.devices.classes.values() for s in c.selectors)
        if gpus is None or not named or _slice_name(node) in self._book.devices.slices:
            return
        model, count = gpus
        devices = tuple(
            Device(name=f"gpu-{n}", traits=_published(GPU_TRAITS[model], node, n)) for n in range(count)
        )
        self._store.add(
            ResourceSlice(
                name=_slice_name(node),
                driver=NVIDIA_DRIVER,
                pool=node,
                generation=1,
                node=node,
                devices=devices,
            )
        )

    # --- the scheduler

    def allocation(self, pod: Pod, node: str) -> Allocation | str:
        """Return the devices of a node that the claims of a pod would get, or why there are none."""
        try:
            claims = open_claims(pod, self._book)
        except UnclearError as problem:
            return str(problem)
        if any("/" not in claim.key or claim.key.startswith(pod.uid) for claim in claims):
            return "waiting for its resource claims to be made"
        if any(c.wishes.special or any(r.special for r in c.wishes.requests) for c in claims):
            return "cannot allocate what its resource claims ask for: this scheduler only counts devices"
        wanted = [
            (claim.key, request)
            for claim in claims
            for request in claim.wishes.requests
            for _ in range(request.count)
        ]
        taken = {device for claim in self._book.resource_claims.values() for device in claim.devices}
        there = self._book.devices.devices_of(node)
        try:
            suited = [
                [i for i, d in there.items() if i not in taken and not d.special and self._suits(request, d)]
                for _, request in wanted
            ]
        except SelectorError as problem:
            return f"cannot evaluate the selectors of its resource claims: {problem}"
        chosen = _matching(suited)
        if chosen is None:
            return "cannot allocate all claims"
        found: Allocation = {claim.key: () for claim in claims}
        for (key, _), device in zip(wanted, chosen, strict=True):
            found[key] = (*found[key], device)
        return found

    def _suits(self, request: DeviceRequest, device: Device) -> bool:
        of = self._book.devices.classes.get(request.device_class)
        if of is None:
            raise SelectorError(f"the DeviceClass {request.device_class} is not there")
        for expression in (*of.selectors, *request.selectors):
            match = selector_of(expression).holds(device.traits)
            if match is Match.MISSING:
                raise SelectorError(f"{expression}: an attribute is not there")
            if match is Match.NO:
                return False
        return True

    def allocate(self, pod: Pod, node: str) -> None:
        """Give the claims of a pod that is about to be bound their devices."""
        found = self.allocation(pod, node)
        if isinstance(found, str):
            return
        there: tuple[Expression, ...] = (Expression(labels.NODE_NAME, Operator.IN, (node,)),)
        for key, devices in found.items():
            claim = self._book.resource_claims[key]
            self._store.put(
                replace(claim, allocated=True, devices=devices, nodes=(there,) if devices else ())
            )


def _matching(suited: Sequence[Sequence[DeviceId]]) -> list[DeviceId] | None:
    """Return a device for each of some places, by the devices that suit each; None where there is no way.

    Where a place finds all of its devices taken, who has one looks for another (augmenting paths).
    """
    holder: dict[DeviceId, int] = {}

    def place(number: int, tried: set[DeviceId]) -> bool:
        for device in suited[number]:
            if device in tried:
                continue
            tried.add(device)
            if device not in holder or place(holder[device], tried):
                holder[device] = number
                return True
        return False

    if not all(place(number, set()) for number in range(len(suited))):
        return None
    found = {number: device for device, number in holder.items()}
    return [found[number] for number in range(len(suited))]


def _published(known: Traits, node: str, number: int) -> Traits:
    """Return a GPU as its driver shows it, by what is known of its model."""
    own = {
        (NVIDIA_DRIVER, "uuid"): f"GPU-{node}-{number}",
        (NVIDIA_DRIVER, "pcieBusID"): f"0000:{number:02x}",
    }
    return replace(
        known,
        attributes=tuple(sorted({**dict(known.attributes), **own}.items(), key=lambda one: one[0])),
        capacity=tuple(_halfway(known.capacity)),
        partly=False,
    )


def _halfway(capacity: Sequence[tuple[tuple[str, str], Span]]) -> Iterator[tuple[tuple[str, str], Span]]:
    for name, span in capacity:
        amount = (span.low + span.high) // 2
        yield name, Span(amount, amount)


def _slice_name(node: str) -> str:
    return f"{node}-{NVIDIA_DRIVER}"
