"""The history of pods: how long each waited, and how far each workload fell below what it had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treenail.adapters.api.workloads import ApiObject, Deployment, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.cluster.objects import Change
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.pods import Phase, Pod

# What keeps so many pods running. A Job's pods end by themselves: fewer of them is no loss.
_KEEPERS: Final = {"Deployment": Deployment, "ReplicaSet": ReplicaSet, "StatefulSet": StatefulSet}


@dataclass(frozen=True, slots=True, order=True)
class WorkloadName:
    """A workload as people name it."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(slots=True)
class PodRecord:
    """A pod's life; seconds since the start.

    It waits from `created_at` (for one with gates: since the last was lifted) until `started_at`, when its
    containers run; it is gone, or has ended by itself, at `gone_at`.
    """

    namespace: str
    name: str
    workload: WorkloadName | None
    created_at: float
    started_at: float | None = None
    gone_at: float | None = None
    node: str = ""
    ready: bool = False

    def waited(self, now: float) -> float:
        """Return how long it has waited, in seconds."""
        ends = [at for at in (self.started_at, self.gone_at) if at is not None]
        return min(ends, default=now) - self.created_at


@dataclass(slots=True)
class Availability:
    """The number of a workload's pods that are ready, and that it has had.

    `had` is as many as were ready at one time and are still wanted: what has yet to come up for the first
    time is not missing. When most were missing, at `fewest_at`, `fewest` of `had_then` were ready; where none
    ever were, when it had most.
    """

    wanted: int
    ready: int = 0
    had: int = 0
    fewest: int = 0
    had_then: int = 0
    fewest_at: float = 0.0

    def note(self, at: float, *, ready: int = 0, wanted: int | None = None) -> None:
        """Take in that so many more pods are `ready`, or that another number is `wanted`."""
        self.ready += ready
        self.wanted = self.wanted if wanted is None else wanted
        self.had = min(max(self.had, self.ready), self.wanted)
        missing, most = self.had - self.ready, self.had_then - self.fewest
        never = most <= 0 and missing >= most and self.had >= self.had_then
        if missing > most or never:
            self.fewest, self.had_then, self.fewest_at = min(self.ready, self.had), self.had, at


@dataclass(frozen=True, slots=True)
class Count:
    """The number of pods from a moment on, in seconds since the start."""

    at: float
    pending: int
    running: int


_Key: TypeAlias = str


@dataclass(slots=True)
class PodHistory:
    """The history of every pod but those of DaemonSets, heard from the cluster. `seconds` tells the time.

    `latest` is the pod of each workload that was made last, gone or not.
    """

    cluster: FakeCluster
    seconds: Callable[[], float]
    records: dict[_Key, PodRecord] = field(default_factory=dict)
    workloads: dict[WorkloadName, Availability] = field(default_factory=dict)
    latest: dict[WorkloadName, Pod] = field(default_factory=dict)
    counts: list[Count] = field(default_factory=list)
    _pending: int = 0
    _running: int = 0

    def __post_init__(self) -> None:
        self.cluster.on_change(self._note)

    def _note(self, change: Change) -> None:
        if isinstance(change.before, Pod) or isinstance(change.after, Pod):
            self._pod(change.before, change.after)
        elif isinstance(change.after, Deployment | ReplicaSet | StatefulSet):
            self._scaled(change.after)

    def _scaled(self, owner: Deployment | ReplicaSet | StatefulSet) -> None:
        known = self.workloads.get(WorkloadName(type(owner).__name__, owner.namespace, owner.name))
        if known is not None and known.wanted != owner.replicas:
            known.note(self.seconds(), wanted=owner.replicas)

    def _pod(self, before: ApiObject | None, after: ApiObject | None) -> None:
        was = before if isinstance(before, Pod) else None
        pod = after if isinstance(after, Pod) else None
        latest = pod or was
        if latest is None or latest.daemon or latest.mirror or latest.spec.scheduling_gates:
            return
        record = self.records.get(latest.uid)
        if record is None:
            if pod is None or pod.terminal:
                return
            record = self.records[pod.uid] = self._record(pod)
            self._pending += 1
        self._follow(record, latest if pod is not None and not pod.terminal else None)
        self._count()

    def _record(self, pod: Pod) -> PodRecord:
        return PodRecord(
            namespace=pod.namespace,
            name=pod.name,
            workload=self._workload(pod),
            created_at=self.seconds(),
        )

    def _follow(self, record: PodRecord, pod: Pod | None) -> None:
        """Take in how a pod stands; None where it is gone or has ended."""
        if record.gone_at is not None:
            return
        at = self.seconds()
        if pod is not None and pod.node_name:
            record.node = pod.node_name
        if record.started_at is None and (pod is None or pod.phase is not Phase.PENDING):
            self._pending -= 1
            record.started_at = at if pod is not None else None
        if pod is None:
            record.gone_at = at
        ready = pod is not None and pod.active and pod.phase is Phase.RUNNING and pod.ready
        if ready is not record.ready:
            record.ready = ready
            step = 1 if ready else -1
            self._running += step
            if record.workload is not None:
                self.workloads[record.workload].note(at, ready=step)

    def _count(self) -> None:
        count = Count(self.seconds(), self._pending, self._running)
        if self.counts and self.counts[-1].at == count.at:
            self.counts[-1] = count
        else:
            self.counts.append(count)

    def _workload(self, pod: Pod) -> WorkloadName | None:
        """Return what keeps so many of these pods running: a ReplicaSet's Deployment where it has one."""
        owner = pod.owner
        if owner is None:
            return None
        kind, name = owner.kind, owner.name
        keeper = self._keeper(kind, pod.namespace, name)
        if isinstance(keeper, ReplicaSet):
            above = next((o for o in keeper.owners if o.controller), None)
            if above is not None:
                kind, name = above.kind, above.name
                keeper = self._keeper(kind, pod.namespace, name)
        if keeper is None:
            return None
        known = WorkloadName(kind, pod.namespace, name)
        self.workloads.setdefault(known, Availability(wanted=keeper.replicas))
        self.latest[known] = pod
        return known

    def _keeper(self, kind: str, namespace: str, name: str) -> Deployment | ReplicaSet | StatefulSet | None:
        if kind not in _KEEPERS:
            return None
        try:
            found = self.cluster.get(kind, name, namespace=namespace)
        except NotFoundError:
            return None
        return found if isinstance(found, Deployment | ReplicaSet | StatefulSet) else None
