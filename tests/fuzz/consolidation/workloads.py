"""Workloads of clusters to consolidate: pods that run, what keeps them, their volumes, and pods that wait."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tests.fuzz.check.catalogue import ZONE
from tests.fuzz.check.pods import Shape
from tests.fuzz.consolidation.machines import KEEP, Machine
from tests.fuzz.manifests import Manifest, container, need, pod
from tests.fuzz.plain import CPUS, MEMORY, workload

_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes"}


class Workloads:
    """Makes the pods of many applications, and what belongs to them."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._made: list[Manifest] = []

    def manifests(self) -> list[Manifest]:
        """Return budgets, claims and volumes of the pods made so far."""
        return list(self._made)

    def running(self, machines: Sequence[Machine], *, filled: float) -> list[Manifest]:
        """Return pods that run, until nodes are filled so far on average."""
        pods: list[Manifest] = []
        for number in range(4 * len(machines)):
            if sum(one.filled() for one in machines) >= filled * len(machines):
                break
            pods += self._application(number, machines)
        return pods

    def waiting(self) -> list[Manifest]:
        """Return some small pods that have no node yet."""
        requests = {"cpu": f"{self._dice.choice(CPUS[:5])}m", "memory": "256Mi"}
        spec = {"containers": [container(requests)], "priority": 0}
        return [_identified(pod(f"waiting-{n}", {"app": "waiting"}, spec)) for n in range(3)]

    # --- one application

    def _application(self, number: int, machines: Sequence[Machine]) -> list[Manifest]:
        dice = self._dice
        written = self._plain(number) if dice.random() < 0.5 else workload(dice, number)
        annotations, priority = self._costs()
        stateful = dice.random() < 0.08
        placed = []
        for one in written:
            one["metadata"]["annotations"] = dict(annotations)
            one["spec"] = {**one["spec"], "priority": priority}
            shape = Shape.of("default", one["metadata"]["labels"], one["spec"])
            on = self._choose(shape, machines)
            if on is None:
                break
            on.run(shape)
            if stateful:
                self._claim(one, on)
            if dice.random() < 0.01:
                one["metadata"]["annotations"][KEEP] = "true"
            placed.append(_bound(one, on.name))
        self._budgets(number, len(placed))
        return placed

    def _plain(self, number: int) -> list[Manifest]:
        requests = {"cpu": f"{self._dice.choice(CPUS)}m", "memory": f"{self._dice.choice(MEMORY[:5])}Mi"}
        spec = {"containers": [container(requests)]}
        labels = {"app": f"app-{number}"}
        return [pod(f"app-{number}-{n}", labels, spec) for n in range(self._dice.choice((1, 2, 3, 5, 8)))]

    def _costs(self) -> tuple[dict[str, str], int]:
        """Return the annotations and the priority of an application's pods: they say what evictions cost."""
        drawn = self._dice.random()
        if drawn < 0.05:
            return {_DELETION_COST: "-2147483647"}, 0
        if drawn < 0.1:
            return {_DELETION_COST: "500000000"}, 0
        return {}, 1_000_000 if drawn < 0.15 else 0

    def _choose(self, shape: Shape, machines: Sequence[Machine]) -> Machine | None:
        """Return a node that may have one more pod, for what pods of its own application ask."""
        rules = [(s.key, s.max_skew) for s in shape.spreads if s.hard]
        apart = [one.key for one in shape.pod_terms if one.anti and one.weight is None]
        together = [one.key for one in shape.pod_terms if not one.anti and one.weight is None]
        alike = [(one, sum(r.labels == shape.labels for r in one.running)) for one in machines]
        able = [one for one in machines if one.holds(shape)]
        self._dice.shuffle(able)
        for key in apart:
            taken = {one.labels.get(key) for one, count in alike if count}
            able = [one for one in able if one.labels.get(key) not in taken]
        for key in together:
            there = {one.labels.get(key) for one, count in alike if count}
            able = [one for one in able if not there or one.labels.get(key) in there]
        for key, skew in rules:
            counts = Counter({one.labels.get(key): 0 for one in able})
            for one, count in alike:
                counts[one.labels.get(key)] += count
            least = min((counts[one.labels.get(key)] for one in able), default=0)
            able = [one for one in able if counts[one.labels.get(key)] + 1 - least <= skew]
        return able[0] if able else None

    def _claim(self, written: Manifest, on: Machine) -> None:
        """Give a pod a volume, in the zone it runs in."""
        name = f"data-{written['metadata']['name']}"
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
        written["spec"] = {**written["spec"], "volumes": [volume]}
        self._made += _volume(name, on.labels[ZONE])

    def _budgets(self, number: int, pods: int) -> None:
        drawn = self._dice.random()
        if drawn < 0.15 and pods:
            allowed = self._dice.choice((0, 1, pods))
            self._made.append(_budget(f"pdb-{number}", number, allowed))
            if drawn < 0.01:
                self._made.append(_budget(f"pdb-{number}-too", number, allowed))


def _bound(written: Manifest, on: str) -> Manifest:
    bound = _identified(written)
    bound["spec"] = {"nodeName": on, **bound["spec"]}
    return {**bound, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


def _identified(written: Manifest) -> Manifest:
    metadata = written["metadata"]
    app = metadata["labels"]["app"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    uid = f"{metadata['namespace']}/{metadata['name']}"
    return {**written, "metadata": {**metadata, "uid": uid, "ownerReferences": [owner]}}


def _budget(name: str, number: int, allowed: int) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": f"app-{number}"}}, "maxUnavailable": max(1, allowed)},
        "status": {"disruptionsAllowed": allowed},
    }


def _volume(name: str, zone: str) -> Iterator[Manifest]:
    size = {"storage": "1Gi"}
    terms = [{"matchExpressions": [need(ZONE, "In", zone)]}]
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{name}"},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": name},
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": _BOUND},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": size},
            "storageClassName": "",
            "volumeName": f"pv-{name}",
        },
        "status": {"phase": "Bound"},
    }
