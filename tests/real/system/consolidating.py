"""A cluster that is too large for its pods, a controller that consolidates it, and what must hold then."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import yaml

from tests.real.parts.kubectl import Kubectl
from tests.real.parts.objects import says
from tests.real.system.bystander import Bystander
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.consolidation_moments import Way
from tests.real.system.controller import TREENAIL, eventually
from tests.real.system.departures import Moment
from tests.real.system.killable import WITHIN, Grounds, come_to, expect_nothing, killable
from tests.real.system.loners import ground
from tests.real.system.pod_witness import PodWitness
from tests.real.system.scene import Scene
from tests.real.system.wholeness import is_marked, is_whole

_CPUS: Final = "karpenter.k8s.aws/instance-cpu"
# Three of these pods fit on a machine with four processors, one on a machine with two.
_WEB: Final = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: web}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: pause, image: pause, resources: {requests: {cpu: "1"}}}
"""
_TOLD_SECONDS: Final = 1.0
# An eviction charges the budget first and deletes the pod then. One whose caller is killed in between leaves
# a pod that the budget counts as gone: Kubernetes' disruption controller waits two minutes for its deletion.
_CHARGED_SECONDS: Final = 120.0
AFTER_A_KILL: Final = WITHIN + _CHARGED_SECONDS


class Consolidating:
    """A Deployment whose budget lets one pod be away, on machines with two or four processors."""

    def __init__(self, scene: Scene, checkpoint: Checkpoint, witness: PodWitness) -> None:
        self.scene = scene
        self.checkpoint = checkpoint
        self.witness = witness

    def begin(self) -> None:
        """Have the pool and the Deployment, without any pod."""
        lab, cluster = self.scene.lab, self.scene.cluster
        text = ground(
            lab.cluster, cpus=4, capacity_type="on-demand", instanceProfile=lab.estate["instance_profile"]
        )
        node_class, pool = yaml.safe_load_all(text)
        pool["spec"]["disruption"].update(
            consolidationPolicy="WhenEmptyOrUnderutilized", consolidateAfter="0s"
        )
        requirements = pool["spec"]["template"]["spec"]["requirements"]
        pool["spec"]["template"]["spec"]["requirements"] = [
            *(one for one in requirements if one["key"] != _CPUS),
            {"key": _CPUS, "operator": "In", "values": ["2", "4"]},
            # With those of category t, so many small ones would cost less.
            {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c"]},
        ]
        cluster.apply(node_class, pool, _WEB)

    def fill(self, pods: int, machines: Sequence[int]) -> None:
        """Have so many pods on machines with so many processors, once all there was before is gone."""
        self.empty()
        self.scene.cluster.scale("web", pods)
        self.expect(pods, machines)

    def shrink(self, pods: int) -> None:
        """Have no more than so many pods; what becomes of them from now on is watched.

        One goes after the other: then it is always one of the fullest machine, and none is emptied.
        """
        cluster = self.scene.cluster
        for left in range(len(cluster.pods()) - 1, pods - 1, -1):
            cluster.scale("web", left)
            eventually(lambda left=left: self._active() == left, self.scene.summary)  # type: ignore[misc]
        time.sleep(_TOLD_SECONDS)
        # Those that had to go were not evicted.
        self.witness.wrongs.clear()
        self.witness.ended.clear()

    def _active(self) -> int:
        return sum("deletionTimestamp" not in pod["metadata"] for pod in self.scene.cluster.pods())

    def kill_at(self, way: Way, moment: Moment) -> None:
        """Have too large a cluster, and kill the controller when a move has come to this moment."""
        self.fill(way.pods, way.machines)
        reached = moment.arm(self.scene, self.checkpoint)
        self.shrink(way.left)
        come_to(reached, self.scene, f"{way.name}, {moment.name}")
        self.scene.controller.kill()

    def expect(self, pods: int, machines: Sequence[int], *, within: float = WITHIN) -> float:
        """Wait until all is at rest so, no mark on any node; return for how long, in seconds."""
        return eventually(lambda: self._rests(pods, machines), self.scene.summary, within=within)

    def _rests(self, pods: int, machines: Sequence[int]) -> bool:
        cluster = self.scene.cluster
        nodes = cluster.nodes()
        sizes = sorted(int(node["metadata"]["labels"].get(_CPUS, 0)) for node in nodes)
        all_run = cluster.running() == len(cluster.pods()) == pods
        whole = sizes == sorted(machines) and is_whole(self.scene, len(machines))
        return all_run and whole and not any(map(is_marked, nodes))

    def empty(self) -> None:
        """Take all pods away, and wait until there is no machine either, nor anything of one."""
        self.scene.cluster.scale("web", 0)
        expect_nothing(self.scene)

    # --- what users see

    def plan(self) -> dict[str, Any]:
        """Return what `treenail plan` says of the cluster that KUBECONFIG names."""
        ran = subprocess.run(  # noqa: S603
            [TREENAIL, "plan", "-o", "json"],
            env={"KUBECONFIG": str(self.scene.cluster.plane.kubeconfig), "HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return dict(json.loads(ran.stdout))

    def initialized_at(self) -> datetime:
        """Return when the only claim was initialized."""
        (claim,) = self.scene.cluster.claims()
        (at,) = [
            one["lastTransitionTime"] for one in claim["status"]["conditions"] if one["type"] == "Initialized"
        ]
        return datetime.fromisoformat(at)

    def consolidatable(self) -> list[bool]:
        """Return of each claim whether it says that it may be consolidated."""
        return [says(claim, "Consolidatable") for claim in self.scene.cluster.claims()]


@contextmanager
def consolidating(grounds: Grounds, **env: str) -> Iterator[Consolidating]:
    """Have the pool, the Deployment and the controller. At the end all must go by itself."""
    with killable(grounds, **env) as (scene, checkpoint), Bystander(grounds.plane, {}) as bystander:
        there = Consolidating(scene, checkpoint, bystander.witness)
        there.begin()
        yield there
        there.empty()


def events(kubectl: Kubectl, reason: str) -> dict[str, list[str]]:
    """Return what events of a reason say, by the kind that they are about."""
    told = json.loads(kubectl("get", "events", "-A", f"--field-selector=reason={reason}", "-o", "json"))
    found: dict[str, list[str]] = {}
    for one in told["items"]:
        found.setdefault(one["involvedObject"]["kind"], []).append(one["message"])
    return found
