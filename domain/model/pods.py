"""Pods: what they ask of a node, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.pod_parts import PodParts
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.taints import DISRUPTED, Toleration

DEFAULT_GRACE_SECONDS: Final = 30
SYSTEM_CRITICAL_PRIORITY: Final = 2_000_000_000
_STUCK_AFTER: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, order=True)
class Expression:
    """One line of a selector as it was written: key, operator, values."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def requirement(self) -> Requirement:
        return Requirement.of(labels.normalized(self.key), self.operator, self.values)


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """Node affinity: `required` terms are alternatives of conjunctions; `preferred` are (weight, term).

    A demand on a node's name has the key `labels.NODE_NAME`.
    """

    required: tuple[tuple[Expression, ...], ...] = ()
    preferred: tuple[tuple[int, tuple[Expression, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A selector of pods or namespaces by label. An empty one selects everything."""

    match_labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def selects(self, of: Mapping[str, str]) -> bool:
        if any(of.get(key) != value for key, value in self.match_labels):
            return False
        return all(_expression_holds(e, of) for e in self.expressions)

    def of_pod(
        self, own: Mapping[str, str], match: tuple[str, ...], mismatch: tuple[str, ...] = ()
    ) -> LabelSelector:
        """Return the selector narrowed to pods with the same values as `own` of the labels `match`.

        And with other values of the labels `mismatch`. Keys that `own` lacks say nothing.
        """
        lines = [Expression(key, Operator.IN, (own[key],)) for key in match if key in own]
        lines += [Expression(key, Operator.NOT_IN, (own[key],)) for key in mismatch if key in own]
        more = [line for line in lines if line not in self.expressions]
        return replace(self, expressions=(*self.expressions, *more)) if more else self


def _expression_holds(expression: Expression, of: Mapping[str, str]) -> bool:
    value = of.get(expression.key)
    match expression.operator:
        case Operator.IN:
            return value in expression.values
        case Operator.NOT_IN:
            return value not in expression.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case _:
            return value is not None and expression.requirement().has(value)


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """One topology spread constraint. `hard` is DoNotSchedule, else ScheduleAnyway."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector | None = None
    min_domains: int | None = None
    honor_node_affinity: bool = True
    honor_node_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """Pods this one must, or must not, share a topology domain with. A weight makes it a preference.

    `match_label_keys` (`mismatch_label_keys`) are labels of which those pods must have the same (another)
    value as this one. The API server writes that into a pod's selector; only templates still have keys.
    """

    topology_key: str
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    anti: bool = False
    weight: int | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()

    def of_pod(self, own: Mapping[str, str]) -> PodAffinityTerm:
        """Return the term of a pod with the labels `own`: those named by keys go into its selector."""
        if not self.match_label_keys and not self.mismatch_label_keys:
            return self
        selector = (self.selector or LabelSelector()).of_pod(
            own, self.match_label_keys, self.mismatch_label_keys
        )
        return replace(self, selector=selector, match_label_keys=(), mismatch_label_keys=())


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port a pod claims on its node."""

    port: int
    protocol: str = "TCP"
    ip: str = ""


@dataclass(frozen=True, slots=True, order=True)
class PodVolume:
    """A volume that says something about nodes.

    It is a claim by name; or `ephemeral`, a claim named after pod and volume, of a class; or one that the
    pod itself names by CSI `driver` and `handle`, which counts among those attached.
    """

    name: str
    claim_name: str = ""
    storage_class: str | None = None
    ephemeral: bool = False
    driver: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True, order=True)
class PodResourceClaim:
    """A claim on devices: a ResourceClaim by name, or one that is made for the pod from a `template`."""

    name: str
    claim_name: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """The parts of a pod that scheduling looks at, without labels. Pods of one template share one object.

    `requests` are effective: containers, init containers, sidecars and overhead together, and one of `pods`.
    `node_selector` is sorted. Hashable, so that equal specs can be counted as one class. `parts` are what
    requests and limits are computed from, None once admission has completed them, and where nobody asks for
    them.
    """

    requests: Resources = NOTHING
    limits: Resources = NOTHING
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: NodeAffinity = NodeAffinity()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[TopologySpread, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[str, ...] = ()
    priority: int = 0
    priority_class: str = ""
    grace_seconds: int = DEFAULT_GRACE_SECONDS
    parts: PodParts | None = None

    def alternatives(self) -> tuple[Requirements, ...]:
        """Return what the pod requires of a node's labels: one entry per OR-ed affinity term, in order."""
        selected = tuple(
            Requirement(labels.normalized(key), frozenset((value,))) for key, value in self.node_selector
        )
        terms = self.node_affinity.required or ((),)
        return tuple(Requirements((*selected, *(e.requirement() for e in term))) for term in terms)

    @property
    def label_keys(self) -> tuple[str, ...]:
        """The labels of a pod that decide what its affinity terms select, where those do not say it yet."""
        keys = {k for t in self.pod_affinity for k in (*t.match_label_keys, *t.mismatch_label_keys)}
        return tuple(sorted(keys))

    def of_pod(self, own: Mapping[str, str]) -> PodSpec:
        """Return the spec of a pod with the labels `own` that is made from a template with this one."""
        terms = tuple(term.of_pod(own) for term in self.pod_affinity)
        return self if terms == self.pod_affinity else replace(self, pod_affinity=terms)


class Phase(StrEnum):
    """The phase of a pod in its life."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """An object's owner reference. `controller` marks the one that manages it."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = True
    block_deletion: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod at one revision. Times are aware UTC.

    `claims_made` are the ResourceClaims made for it from templates, each after the name of the claim in its
    spec, "" where none is needed. `unread` says what of it could not be read, "" where all could: there may
    be more to the pod.
    """

    uid: str
    name: str
    namespace: str = "default"
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    spec: PodSpec = PodSpec()
    created_at: datetime
    deleting_since: datetime | None = None
    phase: Phase = Phase.PENDING
    node_name: str = ""
    nominated_node: str = ""
    unschedulable_since: datetime | None = None
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    ready: bool = False
    claims_made: tuple[tuple[str, str], ...] = ()
    unread: str = ""

    @property
    def key(self) -> str:
        """The pod's name as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"

    def claim_key(self, volume: PodVolume) -> str:
        """Return the namespace/name of the claim on storage that a volume of this pod is."""
        return f"{self.namespace}/{f'{self.name}-{volume.name}' if volume.ephemeral else volume.claim_name}"

    @property
    def claim_keys(self) -> tuple[str, ...]:
        """The claims on storage that the pod uses, in the order of its volumes."""
        return tuple(self.claim_key(volume) for volume in self.spec.volumes if not volume.driver)

    @property
    def resource_claim_keys(self) -> tuple[str, ...]:
        """The ResourceClaims that the pod uses, as namespace/name, of those that are made."""
        asked = self.spec.resource_claims
        made = dict(self.claims_made)
        names = (claim.claim_name or made.get(claim.name, "") for claim in asked)
        return tuple(f"{self.namespace}/{name}" for name in names if name)

    @property
    def owner(self) -> Owner | None:
        """The owner that would make this pod again, if any."""
        for owner in self.owners:  # asked for so often that a generator would show
            if owner.controller:
                return owner
        return None

    @property
    def daemon(self) -> bool:
        """True if a DaemonSet owns the pod."""
        return any(o.kind == "DaemonSet" for o in self.owners)

    @property
    def mirror(self) -> bool:
        """True if a node made this pod for itself (a static pod)."""
        return any(o.kind == "Node" for o in self.owners)

    @property
    def terminal(self) -> bool:
        """True if the pod has succeeded or failed."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    @property
    def active(self) -> bool:
        """True if the pod is neither terminal nor being deleted."""
        return not self.terminal and self.deleting_since is None

    @property
    def bound(self) -> bool:
        """True if the pod holds room on a node."""
        return bool(self.node_name) and not self.terminal

    @property
    def provisionable(self) -> bool:
        """True if the scheduler has found no node for this pod, and a new one may help."""
        return self.unschedulable_since is not None and self._without_node

    @property
    def untried(self) -> bool:
        """True if the scheduler is to look for a node for this pod, and has not said anything of it yet."""
        return self.unschedulable_since is None and self._without_node and not self.spec.scheduling_gates

    @property
    def _without_node(self) -> bool:
        return (
            self.active
            and not self.node_name
            and not self.nominated_node
            and not self.daemon
            and not self.mirror
            and not self.unread
        )

    @property
    def stateful(self) -> bool:
        """True if the pod's successor takes its name, and is made only when it is gone."""
        return any(o.kind == "StatefulSet" for o in self.owners)

    @property
    def reschedulable(self) -> bool:
        """True if the pod comes back elsewhere when its node goes, and it is known what it needs there."""
        comes_back = self.active or (not self.terminal and self.stateful)
        return comes_back and not self.daemon and not self.mirror and not self.unread

    @property
    def belongs(self) -> bool:
        """True if the pod is part of its node: with such pods alone, a node is empty."""
        return (self.daemon or self.mirror) and not self.unread

    def protected(self, now: datetime) -> bool:
        """True if an annotation forbids to disrupt this pod now, for ever or for a time since its start."""
        if self.annotations.get(labels.DO_NOT_EVICT) == "true":
            return True
        value = self.annotations.get(labels.DO_NOT_DISRUPT)
        if value is None:
            return False
        if value == "true":
            return True
        span = parse_duration(value)
        if span is None or span <= timedelta(0):
            return False
        return self.started_at is None or now - self.started_at < span

    def evictable(self, now: datetime) -> bool:
        """True if a drain may evict the pod now."""
        return self.active and self.drainable(now) and not self.protected(now)

    def drainable(self, now: datetime) -> bool:
        """True if a drain waits for the pod to go. A daemon that tolerates the taint, say, stays."""
        stuck = self.deleting_since is not None and now - self.deleting_since > _STUCK_AFTER
        stays = any(t.tolerates(DISRUPTED) for t in self.spec.tolerations)
        return not (self.terminal or self.mirror or stuck or stays)

    @property
    def critical(self) -> bool:
        """True if the pod is of one of Kubernetes' own critical priority classes."""
        return self.spec.priority_class in ("system-cluster-critical", "system-node-critical")
