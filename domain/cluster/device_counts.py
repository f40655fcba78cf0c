"""Devices counted: what claims without devices ask for, and how many of it each node has free.

A request is a predicate on devices (the selectors of its class and its own), and a number. Predicates become
kinds of devices, each a resource that nodes have some of, so that packing counts devices as it counts cores.
That is exact where any two kinds lie one within the other or apart: a request takes one of its own kind and
one of each kind around it, and by Hall's theorem all requests of a node can be met together if each kind has
enough. Requests whose kinds overlap otherwise are refused, the later ones, until the others have devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.device_claims import OpenClaim, UnclearError, open_claims, unknown
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model import labels
from treenail.domain.model.capacity_buffers import of_buffer
from treenail.domain.model.device_selectors import Match, SelectorError, selector_of
from treenail.domain.model.devices import Device, DeviceId, DeviceRequest, Traits
from treenail.domain.model.gpu_models import GPU_TRAITS, NVIDIA_DRIVER, GpuModel, gpus_by
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A pod with a place at `target`, promised or bound, whose claims may have no devices yet."""

    pod: Pod
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Needs of pods with the devices they ask for, nodes with those they have, models of GPUs by kind."""

    needs: Mapping[str, VolumeNeeds]
    existing_nodes: tuple[ExistingNode, ...]
    models: Mapping[str, frozenset[GpuModel]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeviceKind:
    """A kind of devices: `members` match its predicate; of `unsure` ones it is not known whether they do."""

    name: str
    members: frozenset[Traits]
    unsure: frozenset[Traits]


class _Kinds:
    """Kinds of devices, of which any two lie within each other or apart."""

    def __init__(self, there: Iterable[Traits], to_be_bought: Iterable[Traits]) -> None:
        self._there = (*dict.fromkeys(there), *to_be_bought)
        self._by_selectors: dict[tuple[str, ...], _DeviceKind] = {}
        self.all: list[_DeviceKind] = []

    def of(self, request: DeviceRequest, selectors: tuple[str, ...]) -> _DeviceKind:
        """Return the kind of devices that a request asks for; UnclearError where it cannot be counted."""
        known = self._by_selectors.get(selectors)
        if known is None:
            known = self._by_selectors[selectors] = self._admit(self._read(request, selectors))
        return known

    def _read(self, request: DeviceRequest, selectors: tuple[str, ...]) -> _DeviceKind:
        members, unsure = set[Traits](), set[Traits]()
        for traits in self._there:
            match _match(selectors, traits):
                case Match.YES:
                    members.add(traits)
                case Match.MISSING:
                    unsure.add(traits)
        name = f"{request.device_class} devices"
        if request.selectors:
            name += f" of the request {request.name}"
        return _DeviceKind(name=name, members=frozenset(members), unsure=frozenset(unsure))

    def _admit(self, kind: _DeviceKind) -> _DeviceKind:
        for other in self.all:
            if (other.members, other.unsure) == (kind.members, kind.unsure):
                return other
            both = kind.members & other.members
            if both and both not in (kind.members, other.members):
                raise UnclearError(
                    f"it asks for {kind.name}, of which some but not all are {other.name}, "
                    "which other pods ask for: such devices are not counted at the same time"
                )
        names = {other.name for other in self.all}
        if kind.name in names:
            kind = replace(kind, name=f"{kind.name} (kind {len(names) + 1})")
        self.all.append(kind)
        return kind

    def asked(self, kind: _DeviceKind, count: int) -> dict[str, int]:
        """Return what `count` devices of a kind take: of it, and of each kind around it."""
        return {other.name: count for other in self.all if kind.members <= other.members}


def _match(selectors: Sequence[str], traits: Traits) -> Match:
    for expression in selectors:
        try:
            match = selector_of(expression).holds(traits)
        except SelectorError as error:
            said = expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}..."
            raise UnclearError(f"the selector {said!r} of its devices cannot be evaluated: {error}") from None
        if match is not Match.YES:
            return match
    return Match.YES


class DeviceCount:
    """A count of the devices of `nodes` at one moment, less those that `holders` ask for.

    `expected` are the drivers that nodes in the making wait for, by the names of their views.
    """

    def __init__(
        self,
        book: StorageBook,
        nodes: Sequence[ExistingNode],
        holders: Sequence[Holder] = (),
        expected: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._book = book
        self._nodes = nodes
        self._expected = expected or {}
        self._taken = {device for claim in book.resource_claims.values() for device in claim.devices}
        self._of_node = {
            node.name: book.devices.devices_of(node.labels.get(labels.NODE_NAME, "")) for node in nodes
        }
        # Where a rule taints devices that nobody has published yet, none that can be bought is of use.
        self._tainting = book.devices.rule_for_new(NVIDIA_DRIVER)
        self._models: Mapping[GpuModel, Traits] = {} if self._tainting else GPU_TRAITS
        published = (one.traits for there in self._of_node.values() for one in there.values())
        self._kinds = _Kinds(published, self._models.values())
        self._asked: dict[str, list[tuple[_DeviceKind, int]]] = {}
        # A claim that is not understood may have some of these devices.
        self._uncertain = bool(book.unclear_ones(Kind.RESOURCE_CLAIM))
        # Targets of pods of which it is not known what they ask for: nothing is free there.
        self._closed: set[str] = set()
        self._held: dict[str, Holder] = {}
        self._lead: dict[str, str] = {}
        for holder in holders:
            self._hold(holder)

    def _hold(self, holder: Holder) -> None:
        try:
            for claim in open_claims(holder.pod, self._book):
                if claim.key not in self._held:
                    self._held[claim.key] = holder
                    self._asked.setdefault(holder.target, []).extend(self._requests(claim))
        except UnclearError:
            self._closed.add(holder.target)

    def counted(self, pods: Iterable[Pod], needs: Mapping[str, VolumeNeeds]) -> Counted:
        """Return needs of pods and nodes with the devices in them. Those who came first are counted first."""
        asked: dict[str, list[tuple[_DeviceKind, int]]] = {}
        found = dict(needs)
        for pod in sorted(pods, key=lambda one: (one.created_at, one.uid)):
            own = found.get(pod.uid)
            if not pod.spec.resource_claims or own is None or own.device_problem or own.problem:
                continue
            try:
                found[pod.uid], asked[pod.uid] = self._needs_of(pod, own)
            except UnclearError as problem:
                found[pod.uid] = replace(own, device_problem=str(problem))
        for uid, requests in asked.items():
            # Only now all kinds are known that lie around one.
            found[uid] = replace(found[uid], devices=tuple(sorted(self._total(requests).items())))
        models = {
            kind.name: frozenset(model for model, traits in self._models.items() if traits in kind.members)
            for kind in self._kinds.all
        }
        return Counted(needs=found, existing_nodes=tuple(map(self._with_free, self._nodes)), models=models)

    def _needs_of(self, pod: Pod, own: VolumeNeeds) -> tuple[VolumeNeeds, list[tuple[_DeviceKind, int]]]:
        claims = open_claims(pod, self._book)
        if claims and pod.owner is not None and of_buffer(pod.owner.uid):
            raise UnclearError("places of capacity buffers have no devices")
        requests: list[tuple[_DeviceKind, int]] = []
        leads, follows = list[str](), list[str]()
        for claim in claims:
            held = self._held.get(claim.key)
            if held is not None:
                raise UnclearError(
                    f"its resource claim {claim.name} gets its devices where the pod {held.pod.key} goes"
                )
            if claim.key in self._lead:
                follows.append(claim.key)
                continue
            requests += self._requests(claim)
            if len(self._book.device_users(claim.key)) > 1:
                leads.append(claim.key)
        self._lead |= dict.fromkeys(leads, pod.uid)
        return replace(own, leads=tuple(leads), follows=tuple(follows)), requests

    def _requests(self, claim: OpenClaim) -> list[tuple[_DeviceKind, int]]:
        if claim.wishes.special:
            raise UnclearError(f"its resource claim {claim.name} {claim.wishes.special}: that is not counted")
        return [(self._kind(claim, request), request.count) for request in claim.wishes.requests]

    def _kind(self, claim: OpenClaim, request: DeviceRequest) -> _DeviceKind:
        at = f"the request {request.name} of its resource claim {claim.name}"
        if request.special:
            raise UnclearError(f"{at} {request.special}: that is not counted")
        of = self._book.devices.classes.get(request.device_class)
        if of is None or self._book.problem(Kind.DEVICE_CLASS, request.device_class):
            raise UnclearError(f"{at}: {unknown(Kind.DEVICE_CLASS, request.device_class, self._book)}")
        if of.special:
            raise UnclearError(f"{at}: the DeviceClass {of.name} {of.special}")
        self._check_known()
        kind = self._kinds.of(request, (*of.selectors, *request.selectors))
        if not kind.members:
            unsure = (
                ", and of devices still to be bought not all that it looks at is known"
                if any(traits.partly for traits in kind.unsure)
                else ""
            )
            by = (
                f"; new ones have the taint of the DeviceTaintRule {self._tainting}" if self._tainting else ""
            )
            raise UnclearError(f"{at} suits no device that there is or that can be bought{unsure}{by}")
        return kind

    def _check_known(self) -> None:
        """Raise UnclearError where it is not known which devices there are, or which have taints."""
        if Kind.RESOURCE_SLICE in self._book.unreadable:
            raise UnclearError("which devices there are is not known, as no ResourceSlice can be read")
        if Kind.DEVICE_TAINT_RULE in self._book.unreadable:
            raise UnclearError("which devices have taints is not known, as no DeviceTaintRule can be read")
        for key in self._book.unclear_ones(Kind.DEVICE_TAINT_RULE):
            problem = self._book.problem(Kind.DEVICE_TAINT_RULE, key)
            raise UnclearError(f"which devices the DeviceTaintRule {key} taints is not known: {problem}")

    def _total(self, requests: Iterable[tuple[_DeviceKind, int]]) -> Resources:
        total: dict[str, int] = {}
        for kind, count in requests:
            for name, amount in self._kinds.asked(kind, count).items():
                total[name] = total.get(name, 0) + amount
        return Resources(total)

    # --- nodes

    def _with_free(self, node: ExistingNode) -> ExistingNode:
        free = self._free(node)
        return replace(node, free=node.free.plus(free)) if free else node

    def _free(self, node: ExistingNode) -> Resources:
        """Return how many devices of each kind a node has free, less those that pods are to get there."""
        if node.name in self._closed or not (node.open or node.cordoned):
            return NOTHING
        there = dict(self._count(node))
        held = self._total(self._asked.get(node.name, ()))
        return Resources(there).minus(held).at_least_zero()

    def _count(self, node: ExistingNode) -> Iterator[tuple[str, int]]:
        devices = self._of_node[node.name]
        for kind in self._kinds.all:
            count = self._free_of(devices, kind)
            if count:
                yield kind.name, count
        drivers = {driver for driver, _, _ in devices}
        awaited = NVIDIA_DRIVER in self._expected.get(node.name, ()) and NVIDIA_DRIVER not in drivers
        gpus = gpus_by(node.labels) if awaited and self._models else None
        if gpus is not None:
            model, there = gpus
            traits = self._models[model]
            yield from ((kind.name, there) for kind in self._kinds.all if traits in kind.members)

    def _free_of(self, devices: Mapping[DeviceId, Device], kind: _DeviceKind) -> int:
        # Where a selector fails on some device, the scheduler leaves the node out.
        if self._uncertain or any(one.traits in kind.unsure for one in devices.values()):
            return 0
        return sum(
            not one.special and name not in self._taken and one.traits in kind.members
            for name, one in devices.items()
        )
