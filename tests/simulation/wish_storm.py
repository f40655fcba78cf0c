"""Storms of wishes: what workloads ask for changes every few seconds, and pods come late, or not at all."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from typing import ClassVar, Final

from tests.simulation.storm import CALM_MINUTES, Storm
from tests.simulation.workloads import PLAIN, kind_of
from treenail.adapters.api.workloads import Deployment, Job, StatefulSet
from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults, Spell
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import Resources
from treenail.domain.telemetry import metrics

_MINUTES: Final = 10
_HOUR: Final = timedelta(hours=1)
_SPELLS: Final = (Spell.THROTTLED, Spell.AWAY, Spell.SLOW, Spell.ANSWERS_LOST)
# Its pods run until the storm is over, and any number of them may fail.
_BATCH: Final = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "batch"},
    "spec": {
        "parallelism": 30,
        "completions": 30,
        "completionMode": "Indexed",
        "backoffLimit": 100_000,
        "template": {
            "metadata": {"annotations": {"treenail.sh/runs-for": "10h"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}],
            },
        },
    },
}


@dataclass(slots=True)
class WishStorm(Storm):
    """One seeded storm over a controller manager that makes 3 to 20 pods a second, where it can.

    In every fourth one the API server takes ten times as long as usual to answer, and to tell of changes.
    Webhooks refuse pods, quotas are used up (in every other storm those that Treenail sees), workloads are
    deleted and made again, a Job is suspended and resumed; and all that storms bring.
    """

    limits: ClassVar[tuple[int, ...]] = (32, 1000, 1000)
    for_wishes: bool = True
    # Dollars of the first 35 minutes: of all nodes, and of those that no pod came to which they were for.
    cost: float = 0.0
    unused: float = 0.0
    # Hours in that time: that pods ran, all together, and of CPUs of nodes, whatever they cost.
    pod_hours: float = 0.0
    cpu_hours: float = 0.0

    def _cluster_settings(self) -> ClusterSettings:
        settings = Storm._cluster_settings(self)
        if self.seed % 4 == 0:
            settings = replace(settings, latency=(0.02, 0.2), watch=(0.02, 0.2))
        return replace(settings, pod_writes=(3.0, 8.0, 20.0)[self.seed % 3], tells_workloads=self.for_wishes)

    def _ec2_faults(self) -> EC2Faults:
        # What machines cost that never join is not spent for want of pods.
        return replace(Storm._ec2_faults(self), never_joins=0.0)

    def _set_up(self) -> None:
        Storm._set_up(self)
        self.rehearsal.apply(json.dumps(_BATCH))
        # The same time whether pods for wishes or for pods alone take longer to be made.
        self.rehearsal.world.call_at(60.0 * (_MINUTES + CALM_MINUTES), self._measure)

    def _clear(self) -> None:
        Storm._clear(self)
        self.rehearsal.delete("Job", "batch")

    def _measure(self) -> None:
        rehearsal, now, at = self.rehearsal, self.rehearsal.seconds, self.rehearsal.world.now()
        self.cost, self.unused = rehearsal.cost(), rehearsal.telemetry.counted(metrics.UNUSED_DOLLARS.name)
        pods = rehearsal.pod_history.records.values()
        ran = ((pod.gone_at or now) - (pod.started_at or pod.gone_at or now) for pod in pods)
        self.pod_hours = sum(ran) / 3600
        self.cpu_hours = sum(
            one.instance.capacity.get("cpu", 0)
            / 1000
            * (((one.terminated_at or at) - one.launched_at) / _HOUR)
            for one in rehearsal.ec2.all_instances()
        )

    def _blow(self) -> None:
        at = 0.0
        for number in count():
            # Each wish has dice of its own, and its time: a storm for pods alone has the same ones, though it
            # has other nodes to delete and other messages to crash at.
            self.dice = random.Random(f"{self.seed}/{number}")
            at += self.dice.choice((0.5, 2, 5, 20, 60)) * self.dice.uniform(0.5, 1)
            if self.dice.random() < 0.05:
                self._crash_at_some_message(self._left(at))
            self.rehearsal.run(self._left(at))
            self._wish()
            if at >= 60.0 * _MINUTES:
                return

    def _left(self, until: float) -> float:
        return max(until - self.rehearsal.seconds, 0.0)

    def _wish(self) -> None:
        events: list[Callable[[], object]] = [
            self._scale,
            self._refuse_pods,
            self._change_quota,
            self._lose_capacity,
            self._put_under_a_spell,
            self._somebody_deletes_something,
            self._make_anew,
            self._suspend,
        ]
        self.dice.choices(events, weights=[14, 2, 2, 2, 2, 1, 1, 2])[0]()

    def _scale(self) -> None:
        name = self.dice.choice(self.names)
        replicas = self.dice.choice((0, 5, 40, 120) if name in PLAIN else (0, 3, 8))
        self.rehearsal.scale(name, replicas, kind=kind_of(name))

    def _refuse_pods(self) -> None:
        """Let webhooks refuse some pods, or all, or none."""
        cluster = self.rehearsal.cluster
        cluster.faults = replace(cluster.faults, pods_refused=self.dice.choice((0.0, 0.0, 0.02, 1.0)))

    def _change_quota(self) -> None:
        pods = self.dice.choice((None, None, 20, 100))
        if self.seed % 2 == 0:
            cluster = self.rehearsal.cluster
            cluster.faults = replace(cluster.faults, pod_quota=pods)
        elif pods is not None:
            self.rehearsal.apply(ResourceQuota(name="small", hard=Resources({"pods": pods})))
        else:
            self._end_quota()

    def _end_quota(self) -> None:
        for quota in self.rehearsal.cluster.objects(ResourceQuota):
            self.rehearsal.delete("ResourceQuota", quota.name)

    def _put_under_a_spell(self) -> None:
        self.rehearsal.ec2_under(self.dice.choice(_SPELLS), self.dice.uniform(1, 60))

    def _make_anew(self) -> None:
        """Delete a workload, pods and all, and make it again, with as many as before."""
        name = self.dice.choice(PLAIN)
        deployment = self.rehearsal.cluster.get("Deployment", name)
        assert isinstance(deployment, Deployment)
        self.rehearsal.delete("Deployment", name)
        self.rehearsal.run(self.dice.uniform(0, 10))
        self.rehearsal.apply(replace(deployment, uid="", resource_version=0))

    def _all_are_made(self) -> bool:
        made = Counter(pod.owner.name for pod in self.rehearsal.pods() if pod.owner is not None)
        return all(
            sum(number for owner, number in made.items() if owner == name or owner.startswith(f"{name}-"))
            >= self._wanted(name)
            for name in (*self.names, "batch")
        )

    def _wanted(self, name: str) -> int:
        if name == "batch":
            job = self.rehearsal.cluster.get("Job", name)
            assert isinstance(job, Job)
            return 0 if job.suspended else job.parallelism
        there = self.rehearsal.cluster.get(kind_of(name), name)
        assert isinstance(there, Deployment | StatefulSet)
        return there.replicas

    def _suspend(self) -> None:
        """Suspend the Job, or resume it, with another number of pods at once."""
        job = self.rehearsal.cluster.get("Job", "batch")
        assert isinstance(job, Job)
        size = self.dice.choice((5, 30))
        self.rehearsal.apply(replace(job, suspended=not job.suspended, parallelism=size))

    def _calm(self) -> None:
        # Pods that were refused are made up to 1000 s later, and nodes for them bought then. Of a StatefulSet
        # whose pods limits leave no room for, the next ones are never made.
        self.rehearsal.cluster.faults = ClusterFaults()
        self._end_quota()
        end = self.rehearsal.seconds + 1500
        while not self._all_are_made() and self.rehearsal.seconds < end:
            self.rehearsal.run(10)
        Storm._calm(self)
        waiting = [promise.heir for promise in self.rehearsal.system.model.promises.all() if promise.expected]
        assert not waiting, "places are kept for pods that are never to come"
