"""The controllers of Deployments and ReplicaSets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Final

from treenail.adapters.api.workloads import ApiObject, Deployment, ReplicaSet
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import Address, Change, address_of
from treenail.adapters.fake.cluster.offspring import Offspring, suffix
from treenail.adapters.fake.cluster.pod_runs import PodRuns
from treenail.adapters.fake.cluster.slow_start import SlowStart
from treenail.domain.model.pods import LabelSelector, Owner, Phase, Pod

_API_VERSION: Final = "apps/v1"
_TEMPLATE_HASH: Final = "pod-template-hash"
# As many pods as the ReplicaSet controller makes or deletes before it looks again.
_MOST_AT_ONCE: Final = 500


class ReplicaSetController:
    """Keeps as many pods of each ReplicaSet as it asks for.

    At a pace, `slow`, what is begun is made to its end, whatever is asked for meanwhile.
    """

    def __init__(
        self, plane: ControlPlane, offspring: Offspring, maker: PodMaker, slow: SlowStart | None
    ) -> None:
        self._store = plane.store
        self._offspring = offspring
        self._maker = maker
        self._dice = plane.fork()
        self._queue = DelayedWork[Address](plane, plane.settings.control, self._sync)
        self._runs = PodRuns(self._queue, slow, self._say)
        plane.store.listen(self._changed, "ReplicaSet")
        offspring.listen("ReplicaSet", self._pod_changed)

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._queue.add(change.address)

    def _pod_changed(self, owner: str, pod: Pod) -> None:
        replica_set = self._store.by_uid(owner)
        missed = pod.active or self._store.knows(pod.uid)
        if replica_set is not None and missed:
            self._queue.add(address_of(replica_set))

    def _sync(self, where: Address) -> None:
        replica_set = self._store.find(where)
        if not isinstance(replica_set, ReplicaSet) or self._store.deleting(replica_set):
            return
        if self._runs.going(where):
            return
        missing = replica_set.replicas - self._offspring.active(replica_set.uid)
        if missing > 0:
            make = partial(self._make_one, replica_set)
            self._runs.start(where, [make] * min(missing, _MOST_AT_ONCE))
        elif missing < 0:
            active = [pod for pod in self._offspring.of(replica_set.uid) if pod.active]
            for pod in _least_missed(active)[: min(-missing, _MOST_AT_ONCE)]:
                pods.delete(self._store, pod, pod.spec.grace_seconds)
        if abs(missing) > _MOST_AT_ONCE:
            self._queue.add(where)

    def _make_one(self, replica_set: ReplicaSet) -> bool:
        owner = Owner("ReplicaSet", replica_set.name, replica_set.uid, _API_VERSION, block_deletion=True)
        name = f"{replica_set.name}-{suffix(self._dice, 5)}"
        return self._maker.make(name, replica_set.namespace, replica_set.template, owner) is not None

    def _say(self, where: Address, made: bool) -> None:  # noqa: FBT001 (what is called back with)
        """Set or clear the condition that says why pods cannot be made."""
        failure = "" if made else self._maker.problem
        replica_set = self._store.find(where)
        if isinstance(replica_set, ReplicaSet) and replica_set.failure != failure:
            self._store.put(replace(replica_set, failure=failure))


class DeploymentController:
    """Keeps one ReplicaSet at the Deployment's size, that of its template, and empties the others.

    That one has the annotations of the Deployment, too.
    """

    def __init__(self, plane: ControlPlane, maker: PodMaker) -> None:
        self._maker = maker
        self._store = plane.store
        self._dice = plane.fork()
        self._sets: dict[str, dict[Address, None]] = {}
        self._queue = DelayedWork[Address](plane, plane.settings.control, self._sync)
        plane.store.listen(self._changed, "Deployment")
        plane.store.listen(self._set_changed, "ReplicaSet")

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._queue.add(change.address)

    def _set_changed(self, change: Change) -> None:
        thing = change.after or change.before
        if not isinstance(thing, ReplicaSet):
            return
        for owner in thing.owners:
            if change.before is None:
                self._sets.setdefault(owner.uid, {})[change.address] = None
            elif change.after is None:
                self._sets.get(owner.uid, {}).pop(change.address, None)
            deployment = self._store.by_uid(owner.uid)
            if deployment is not None and _size(change.before) != _size(change.after):
                self._queue.add(address_of(deployment))

    def _sync(self, where: Address) -> None:
        deployment = self._store.find(where)
        if not isinstance(deployment, Deployment) or self._store.deleting(deployment):
            return
        found = [self._store.find(address) for address in self._sets.get(deployment.uid, ())]
        sets = [s for s in found if isinstance(s, ReplicaSet) and not self._store.deleting(s)]
        current = next((s for s in sets if _made_from(s, deployment)), None)
        if current is None:
            owner = Owner("Deployment", deployment.name, deployment.uid)
            if self._maker.create(self._new_set(deployment), owner, reason="ReplicaSetCreateError") is None:
                self._queue.retry(where)
                return
            self._queue.succeed(where)
        elif (current.replicas, current.annotations) != (deployment.replicas, deployment.annotations):
            size, annotations = deployment.replicas, deployment.annotations
            self._store.put(replace(current, replicas=size, annotations=annotations))
        for other in sets:
            if other is not current and other.replicas:
                self._store.put(replace(other, replicas=0))

    def _new_set(self, deployment: Deployment) -> ReplicaSet:
        mark = suffix(self._dice, 10)
        template = replace(deployment.template, labels={**deployment.template.labels, _TEMPLATE_HASH: mark})
        owner = Owner("Deployment", deployment.name, deployment.uid, _API_VERSION, block_deletion=True)
        selector = LabelSelector(
            (*deployment.selector.match_labels, (_TEMPLATE_HASH, mark)), deployment.selector.expressions
        )
        return ReplicaSet(
            name=f"{deployment.name}-{mark}",
            namespace=deployment.namespace,
            labels=template.labels,
            annotations=deployment.annotations,
            owners=(owner,),
            replicas=deployment.replicas,
            selector=selector,
            template=template,
        )


def _size(replica_set: ApiObject | None) -> int | None:
    return replica_set.replicas if isinstance(replica_set, ReplicaSet) else None


def _made_from(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    template = replica_set.template
    if template.spec is not deployment.template.spec and template.spec != deployment.template.spec:
        return False
    labels = {key: value for key, value in template.labels.items() if key != _TEMPLATE_HASH}
    return labels == deployment.template.labels and template.annotations == deployment.template.annotations


def _least_missed(active: list[Pod]) -> list[Pod]:
    """Sort pods, given oldest first, as ReplicaSets give them up: idle, neighbouring, young ones first."""
    on_node = Counter(pod.node_name for pod in active)
    ranked = sorted(
        enumerate(active),
        key=lambda item: (
            bool(item[1].node_name),
            item[1].phase is Phase.RUNNING,
            item[1].ready,
            -on_node[item[1].node_name],
            -item[0],
        ),
    )
    return [pod for _, pod in ranked]
