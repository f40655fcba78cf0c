"""The controller of Jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from treenail.adapters.api.workloads import Job
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import Address, Change, address_of
from treenail.adapters.fake.cluster.offspring import Offspring, suffix
from treenail.adapters.fake.cluster.pod_runs import PodRuns
from treenail.adapters.fake.cluster.slow_start import SlowStart
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Owner, Phase, Pod

_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_NAME: Final = "batch.kubernetes.io/job-name"
_UID: Final = "batch.kubernetes.io/controller-uid"
# As many pods as the controller makes before it looks again, and its pauses after pods that failed.
_MOST_AT_ONCE: Final = 500
_AFTER_FAILURE: Final = Backoff(first=10.0, longest=600.0)


@dataclass(slots=True)
class _Pods:
    """The pods of a Job that were counted, and its failures in a row."""

    counted: dict[str, None] = field(default_factory=dict)
    in_a_row: int = 0
    not_before: datetime | None = None


class JobController:
    """Runs pods of each Job until as many succeeded as it wants, or more failed than it bears.

    A pod that is deleted before it succeeds has failed, as in Kubernetes, but one that the controller itself
    deletes. After failures the next pods wait 10 s, 20 s... 10 min.
    """

    def __init__(
        self, plane: ControlPlane, offspring: Offspring, maker: PodMaker, slow: SlowStart | None
    ) -> None:
        self._store = plane.store
        self._offspring = offspring
        self._maker = maker
        self._dice = plane.fork()
        self._pods: dict[str, _Pods] = {}
        self._queue = DelayedWork[Address](plane, plane.settings.control, self._sync)
        self._runs = PodRuns(self._queue, slow, self._made)
        plane.store.listen(self._changed, "Job")
        offspring.listen("Job", self._pod_changed)

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._queue.add(change.address)
        elif isinstance(change.before, Job):
            self._pods.pop(change.before.uid, None)

    def _pod_changed(self, owner: str, pod: Pod) -> None:
        job, there = self._store.by_uid(owner), self._store.knows(pod.uid)
        if not isinstance(job, Job) or (there and pod.active):
            return
        known = self._pods.setdefault(owner, _Pods())
        # One that is first heard of when it is gone and had ended is in the counts that the Job began with.
        if pod.uid not in known.counted and (there or not pod.terminal):
            known.counted[pod.uid] = None
            self._count(job, known, pod)
        if not there:
            known.counted.pop(pod.uid, None)
        self._queue.add(address_of(job))

    def _count(self, job: Job, known: _Pods, pod: Pod) -> None:
        if pod.phase is Phase.SUCCEEDED:
            known.in_a_row, index = 0, _index(pod)
            done = job.done if index is None else job.done | {index}
            succeeded = len(done) if job.indexed else job.succeeded + 1
            self._store.put(replace(job, succeeded=succeeded, done=done))
        else:
            known.in_a_row += 1
            wait = timedelta(seconds=_AFTER_FAILURE.after(known.in_a_row))
            known.not_before = self._store.now() + wait
            self._store.put(replace(job, failed=job.failed + 1))

    def _sync(self, where: Address) -> None:
        job = self._store.find(where)
        if not isinstance(job, Job) or self._store.deleting(job) or job.ended:
            return
        active = [pod for pod in self._offspring.of(job.uid) if pod.active]
        if job.failed > job.backoff_limit:
            self._delete(job, active)
            self._store.put(replace(job, ended="Failed"))
        elif self._complete(job, active):
            self._store.put(replace(job, ended="Complete"))
        elif not self._runs.going(where):
            wanted = len(active) if job.completions is None and job.succeeded else job.wanted
            self._delete(job, active[wanted:])
            if wanted > len(active):
                self._make_up_to(job, wanted - len(active), active)

    def _complete(self, job: Job, active: list[Pod]) -> bool:
        if job.completions is None:
            return bool(job.succeeded) and not active
        return job.succeeded >= job.completions

    def _delete(self, job: Job, surplus: Iterable[Pod]) -> None:
        known = self._pods.setdefault(job.uid, _Pods())
        for pod in surplus:
            known.counted[pod.uid] = None
            pods.delete(self._store, pod, pod.spec.grace_seconds)

    def _make_up_to(self, job: Job, missing: int, active: list[Pod]) -> None:
        where, known = address_of(job), self._pods.setdefault(job.uid, _Pods())
        wait = (known.not_before - self._store.now()).total_seconds() if known.not_before else 0.0
        if wait > 0:
            self._queue.add(where, after=wait)
            return
        indexes = _indexes(job, active, min(missing, _MOST_AT_ONCE))
        # None is left where pods run whose index another one has, or that have none.
        if indexes:
            self._runs.start(where, [partial(self._make_one, job, index) for index in indexes])

    def _made(self, where: Address, well: bool) -> None:  # noqa: FBT001 (what is called back with)
        if well:
            self._queue.add(where)

    def _make_one(self, job: Job, index: int | None) -> bool:
        owner = Owner("Job", job.name, job.uid, "batch/v1", block_deletion=True)
        middle = "" if index is None else f"-{index}"
        name = f"{job.name}{middle}-{suffix(self._dice, 5)}"
        return self._maker.make(name, job.namespace, _template(job, index), owner) is not None


def _indexes(job: Job, active: list[Pod], number: int) -> list[int | None]:
    """Return the lowest indexes that are neither done nor run, None for each pod of a Job without."""
    if not job.indexed:
        return [None] * number
    taken = {*job.done, *map(_index, active)}
    free = (index for index in range(job.completions or 0) if index not in taken)
    return [index for index, _ in zip(free, range(number), strict=False)]


def _index(pod: Pod) -> int | None:
    # Its label is younger than the annotation, which the real controller reads.
    index = pod.annotations.get(_INDEX, pod.labels.get(_INDEX, ""))
    return int(index) if index.isdecimal() else None


def _template(job: Job, index: int | None) -> PodTemplate:
    template = job.template
    labels = {**template.labels, _NAME: job.name, _UID: job.uid}
    if index is None:
        return replace(template, labels=labels)
    mark = {_INDEX: str(index)}
    return replace(template, labels={**labels, **mark}, annotations={**template.annotations, **mark})
