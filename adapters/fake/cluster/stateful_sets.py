"""The controller of StatefulSets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from treenail.adapters.api.workloads import StatefulSet
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import Address, Change, address_of
from treenail.adapters.fake.cluster.offspring import Offspring, suffix
from treenail.adapters.fake.cluster.pod_runs import PodRuns
from treenail.adapters.fake.cluster.slow_start import SlowStart
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Owner, Pod

_REVISION: Final = "controller-revision-hash"


class StatefulSetController:
    """Keeps pods NAME-0, NAME-1 and so on; one that ended or is outdated is made anew.

    They are made all at once, or at a pace, `slow`: then what is begun is made to its end.
    """

    def __init__(
        self, plane: ControlPlane, offspring: Offspring, maker: PodMaker, slow: SlowStart | None
    ) -> None:
        self._store = plane.store
        self._offspring = offspring
        self._maker = maker
        self._dice = plane.fork()
        self._revisions: dict[str, tuple[StatefulSet, str]] = {}
        self._queue = DelayedWork[Address](plane, plane.settings.control, self._sync)
        self._runs = PodRuns(self._queue, slow)
        plane.store.listen(self._changed, "StatefulSet")
        offspring.listen("StatefulSet", self._pod_changed)

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._queue.add(change.address)
        elif change.before is not None:
            self._revisions.pop(change.before.uid, None)

    def _pod_changed(self, owner: str, pod: Pod) -> None:
        del pod
        stateful_set = self._store.by_uid(owner)
        if stateful_set is not None:
            self._queue.add(address_of(stateful_set))

    def _sync(self, where: Address) -> None:
        stateful_set = self._store.find(where)
        if not isinstance(stateful_set, StatefulSet) or self._store.deleting(stateful_set):
            return
        if self._runs.going(where):
            return
        revision = self._revision(stateful_set)
        there = {pod.name: pod for pod in self._offspring.of(stateful_set.uid)}
        wanted = {f"{stateful_set.name}-{number}": number for number in range(stateful_set.replicas)}
        for name, pod in there.items():
            outdated = pod.labels.get(_REVISION) != revision
            if pod.deleting_since is None and (name not in wanted or outdated or pod.terminal):
                pods.delete(self._store, pod, pod.spec.grace_seconds)
        missing = [number for name, number in wanted.items() if name not in there]
        if missing:
            make = partial(self._make_one, stateful_set, revision)
            self._runs.start(where, [partial(make, number) for number in missing])

    def _make_one(self, stateful_set: StatefulSet, revision: str, number: int) -> bool:
        owner = Owner("StatefulSet", stateful_set.name, stateful_set.uid, "apps/v1", block_deletion=True)
        if not self._claim_storage(stateful_set, number, owner):
            return False
        template, name = _template(stateful_set, number, revision), f"{stateful_set.name}-{number}"
        return self._maker.make(name, stateful_set.namespace, template, owner) is not None

    def _claim_storage(self, stateful_set: StatefulSet, number: int, owner: Owner) -> bool:
        """Make the claims of a pod that are not there yet; return whether all are. They stay when it goes."""
        missing = (c for c in stateful_set.claims_of(number) if self._store.find(address_of(c)) is None)
        return all(self._maker.create(claim, owner) is not None for claim in missing)

    def _revision(self, of: StatefulSet) -> str:
        """Return the mark of the present template: what it says itself, another for every later template."""
        known = self._revisions.get(of.uid)
        if known is None and of.revision:
            known = (of, of.revision)
        if known is None or _makes(known[0]) != _makes(of):
            known = (of, suffix(self._dice, 10))
        self._revisions[of.uid] = (of, known[1])
        if of.revision != known[1]:
            self._store.put(replace(of, revision=known[1]))
        return known[1]


def _makes(stateful_set: StatefulSet) -> tuple[object, ...]:
    return stateful_set.template, stateful_set.volume_claim_templates


def _template(of: StatefulSet, number: int, revision: str) -> PodTemplate:
    labels = {**of.template.labels, _REVISION: revision, "apps.kubernetes.io/pod-index": str(number)}
    return replace(of.template_of(number), labels=labels)
