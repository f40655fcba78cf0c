"""Decisions on scenarios of which only the first pod of each app is there, the others still to come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.fuzz.manifests import Manifest
from tests.fuzz.ours import Written
from tests.fuzz.scenarios import text
from tests.untroubled import untroubled
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.cli.simulation_report import as_json
from treenail.adapters.embed.simulation import FixedCatalogue, Simulation
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.cluster.expected_slices import with_expected
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.storage import PersistentVolumeClaim
from treenail.domain.packing.problem import PackingSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ToCome(Simulation):
    """A decision on the first waiting pod of each app, as a ReplicaSet's that is to make the others."""

    def _snapshot(self, listed: Resynced) -> Snapshot:
        objects = listed.objects
        self.apps: dict[str, list[Pod]] = defaultdict(list)
        self._claims = {thing.key for thing in objects if isinstance(thing, PersistentVolumeClaim)}
        for thing in objects:
            if isinstance(thing, Pod) and not thing.node_name and thing.active:
                self.apps[self._owner(thing)].append(thing)
        late = {pod.uid for pods in self.apps.values() for pod in pods[1:]}
        first = {pods[0].uid: app for app, pods in self.apps.items()}
        there: list[ClusterObject] = [
            replace(one, owners=(Owner(kind="ReplicaSet", name=first[one.uid], uid=first[one.uid]),))
            if isinstance(one, Pod) and one.uid in first
            else one
            for one in objects
            if not (isinstance(one, Pod) and one.uid in late)
        ]
        there += [
            Workload(uid=app, kind="ReplicaSet", name=app, resource_version=1, wanted=len(pods))
            for app, pods in self.apps.items()
        ]
        model = ClusterModel(promise_lasts=timedelta(seconds=20))
        model.learn(replace(listed, objects=tuple(there)), NOW)
        return with_expected(model, model.snapshot(NOW), (), (), NOW)

    def _owner(self, pod: Pod) -> str:
        """Return the first pod that this one is a copy of, else itself: a workload makes no others.

        Nor is it one where its volume is there: that is made after the pod.
        """
        if any(pod.claim_key(volume) in self._claims for volume in pod.spec.volumes if volume.ephemeral):
            return pod.name
        app = pod.name.rpartition("-")[0]
        like = (f for f in self.apps if f.rpartition("-")[0] == app and self.apps[f][0].spec == pod.spec)
        return next(like, pod.name)

    def come(self) -> None:
        """Let the pods come, each to a place found for it."""
        left = {app: iter(pods[1:]) for app, pods in self.apps.items()}
        came: dict[str, Pod] = {}
        for pod in self._problem.pods:
            made_up = pod.owner is not None and pod.uid.startswith("expected/")
            came[pod.uid] = next(left[pod.owner.uid]) if made_up and pod.owner is not None else pod
        uid = {old: pod.uid for old, pod in came.items()}
        self._problem = replace(self._problem, pods=tuple(came.values()))
        self.plan = replace(
            self.plan,
            claims=tuple(replace(c, pods=tuple(uid[p] for p in c.pods)) for c in self.plan.claims),
            nominations={uid[pod]: node for pod, node in self.plan.nominations.items()},
            refused=tuple(replace(r, pods=tuple(uid[p] for p in r.pods)) for r in self.plan.refused),
        )


def decide_before_they_come(
    catalogue: Path, items: Sequence[Manifest], settings: PackingSettings | None = None
) -> Written:
    """Return a decision made when each app had one pod, with those that came then in their places."""
    manifests = parse_manifests(text(items).encode(), "scenario")
    decoded = decode_all(manifests, node_classes_optional=True)
    types = FixedCatalogue(read_catalogue(catalogue))
    simulation = ToCome(decoded, types, settings or PackingSettings(), manifests=manifests)
    simulation.decide()
    untroubled(simulation.plan)
    simulation.come()
    return as_json(simulation, [0.0])
