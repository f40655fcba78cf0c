"""Capacity buffers joined with what they refer to: how many places each wants, and what these are like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.cluster.expected_pods import MOST, made_up_uid
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import (
    ACTIVE,
    KIND,
    SCALABLE_GROUP,
    SCALABLE_KINDS,
    CapacityBuffer,
    placeholder_spec,
)
from treenail.domain.model.pod_templates import PodTemplate, StoredPodTemplate
from treenail.domain.model.pods import Owner, Phase, Pod, PodSpec

_NO_SPEC: Final = PodSpec()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The request of a buffer, or why it asks for nothing.

    `reason` is that of the condition ReadyForProvisioning. Where nothing is `known` of what it refers to,
    places stay as they are.
    """

    reason: str
    message: str
    known: bool = True
    wanted: int = 0
    template: PodTemplate | None = None
    spec: PodSpec = _NO_SPEC
    template_name: str = ""
    template_generation: int = 0

    @property
    def ready(self) -> bool:
        """True if it is known what its places are like."""
        return self.template is not None


class BufferBook:
    """The capacity buffers there are, and how many places each still needs. Mutable.

    The places are promises to pods that are never made: real pods do not see them, and take their room. Then
    the promise ends, and another place is needed.
    """

    def __init__(self, objects: Inventory, promises: PromiseBook) -> None:
        self._objects = objects
        self._promises = promises
        self._numbered = 0
        self._specs: dict[str, tuple[PodSpec, PodSpec]] = {}
        # The buffers that are served, by owner, and what each asks for; None where that is to be found anew.
        self._known: dict[str, tuple[CapacityBuffer, Resolution]] | None = None
        # The places that the last decision was to find, by uid.
        self.offered: dict[str, Pod] = {}

    def __bool__(self) -> bool:
        return bool(self._objects.capacity_buffers)

    def concerned(self, thing: ClusterObject | None) -> bool:
        """Return whether a buffer is `thing`, or refers to it, so that it may ask for other places now."""
        buffers = self._objects.capacity_buffers.values()
        match thing:
            case CapacityBuffer():
                return True
            case StoredPodTemplate():
                return any((one.namespace, one.template) == (thing.namespace, thing.name) for one in buffers)
            case Workload():
                named = (thing.namespace, thing.kind, thing.name)
                scaled = ((one.namespace, one.scalable) for one in buffers if one.scalable is not None)
                return any((namespace, ref.kind, ref.name) == named for namespace, ref in scaled)
            case _:
                return False

    def forget(self) -> None:
        """Have what buffers ask for found anew."""
        self._known = None

    def served(self) -> Mapping[str, tuple[CapacityBuffer, Resolution]]:
        """Return the buffers that are served, by owner, each with what it asks for; by namespace and name."""
        if self._known is None:
            there = self._objects.capacity_buffers
            served = (there[key] for key in sorted(there) if _served(there[key]))
            self._known = {one.owner: (one, self._resolve(one)) for one in served}
        return self._known

    def _resolve(self, buffer: CapacityBuffer) -> Resolution:
        if buffer.template:
            return self._of_template(buffer)
        if buffer.scalable is None:
            return _failed("Neither podTemplateRef nor scalableRef is set")
        return self._of_scalable(buffer)

    def _of_template(self, buffer: CapacityBuffer) -> Resolution:
        found = self._objects.pod_templates.get(f"{buffer.namespace}/{buffer.template}")
        if found is None:
            return self._missing(Kind.POD_TEMPLATE, buffer.namespace, buffer.template)
        return self._resolved(buffer, found.template, name=found.name, generation=found.generation)

    def _of_scalable(self, buffer: CapacityBuffer) -> Resolution:
        ref = buffer.scalable
        assert ref is not None  # noqa: S101
        if ref.group not in ("", SCALABLE_GROUP):
            return _failed(f"scalableRef: the API group {ref.group} is not followed, only {SCALABLE_GROUP}")
        if ref.kind not in SCALABLE_KINDS:
            return _failed(f"scalableRef: the kind {ref.kind} is not one of {', '.join(SCALABLE_KINDS)}")
        found = self._scalable(Kind(ref.kind), buffer.namespace, ref.name)
        if found is None or found.template is None:
            return self._missing(Kind(ref.kind), buffer.namespace, ref.name)
        return self._resolved(buffer, found.template, replicas=found.wanted)

    def _scalable(self, kind: Kind, namespace: str, name: str) -> Workload | None:
        known = self._objects.deployments if kind is Kind.DEPLOYMENT else self._objects.workloads[kind]
        return next((one for one in known.values() if (one.namespace, one.name) == (namespace, name)), None)

    def _missing(self, kind: Kind, namespace: str, name: str) -> Resolution:
        told = f"{kind} {namespace}/{name}"
        if kind in self._objects.storage.unreadable:
            return _failed(f"{told}: the role does not let us read these", known=False)
        aside = (one for (of, _), one in self._objects.aside.items() if of is kind)
        named = (one for one in aside if (one.about.namespace, one.about.name) == (namespace, name))
        unread = next(named, None)
        if unread is not None:
            return _failed(f"{told}: {unread.problem}", known=False)
        reason = "PodTemplateNotFound" if kind is Kind.POD_TEMPLATE else "ScalableRefNotFound"
        return Resolution(reason=reason, message=f"{told} is not there")

    def _resolved(
        self,
        buffer: CapacityBuffer,
        template: PodTemplate,
        *,
        name: str = "",
        generation: int = 0,
        replicas: int | None = None,
    ) -> Resolution:
        spec = self._placeholder(buffer, template)
        return Resolution(
            reason="Resolved",
            message="The template of its pods is known",
            wanted=buffer.places(spec.requests, replicas),
            template=template,
            spec=spec,
            template_name=name,
            template_generation=generation,
        )

    def _placeholder(self, buffer: CapacityBuffer, template: PodTemplate) -> PodSpec:
        """Return what places ask for: one object as long as the template says the same."""
        known = self._specs.get(buffer.owner)
        if known is None or known[0] != template.spec:
            spec = placeholder_spec(template.spec.of_pod(template.labels))
            known = self._specs[buffer.owner] = template.spec, spec
        return known[1]

    # --- places

    def lacking(self, owner: str) -> int:
        """Return how many places a buffer has not found yet."""
        known = self.served().get(owner)
        return max(0, known[1].wanted - self._promises.to_come(owner)) if known is not None else 0

    def short(self) -> dict[str, int]:
        """Return how many places buffers need that lack some, by owner, in the order of their names."""
        return {owner: number for owner in self.served() if (number := self.lacking(owner))}

    def offer(self, owners: Iterable[str], now: datetime) -> tuple[Pod, ...]:
        """Return what a decision is to find places for, of these buffers: so many at most as it may plan."""
        found: list[Pod] = []
        for owner in owners:
            found += self.made_up(owner, min(self.lacking(owner), MOST - len(found)), now)
        self.offered = {pod.uid: pod for pod in found}
        return tuple(found)

    def offer_moved(self, places: Iterable[Pod]) -> None:
        """Take in that a plan may find other nodes for these places, which are kept until then."""
        self.offered.update((pod.uid, pod) for pod in places)

    def made_up(self, owner: str, number: int, now: datetime) -> tuple[Pod, ...]:
        """Return so many pods as stand for places of a buffer."""
        buffer, found = self.served().get(owner, (None, None))
        if buffer is None or found is None or found.template is None:
            return ()
        return tuple(self._made_up(buffer, found.template, found.spec, now) for _ in range(number))

    def _made_up(self, buffer: CapacityBuffer, template: PodTemplate, spec: PodSpec, now: datetime) -> Pod:
        self._numbered += 1
        return Pod(
            uid=made_up_uid(buffer.owner, self._numbered),
            name=f"capacity-buffer-{buffer.name}-{self._numbered}",
            namespace=buffer.namespace,
            labels=template.labels,
            owners=(Owner(KIND, buffer.name, buffer.owner),),
            spec=spec,
            created_at=now,
            phase=Phase.PENDING,
            unschedulable_since=now,
        )

    def surplus(self, launched: Callable[[str], bool]) -> tuple[Promise, ...]:
        """Return the promises that no buffer wants any more, those on nodes not bought yet first.

        They are of buffers that are gone, are too many, or have another template now.
        """
        served = self.served()
        over: list[Promise] = []
        for owner in self._promises.buffers():
            promised, (_, found) = self._promises.expected(owner), served.get(owner, (None, None))
            if found is not None and not found.known:
                continue
            fits = [promise for promise in promised if found is not None and _is_like(promise, found)]
            over += (promise for promise in promised if promise not in fits)
            wanted = found.wanted if found is not None else 0
            if len(fits) > wanted:
                fits.reverse()
                fits.sort(key=lambda p: launched(p.target))
                over += fits[: len(fits) - wanted]
        return tuple(over)


def _served(buffer: CapacityBuffer) -> bool:
    return buffer.strategy == ACTIVE and not buffer.deleting


def _is_like(promise: Promise, found: Resolution) -> bool:
    template = found.template
    return template is not None and promise.spec == found.spec and promise.like.labels == template.labels


def _failed(message: str, *, known: bool = True) -> Resolution:
    return Resolution(reason="ResolutionFailed", message=message, known=known)
