"""A cluster whose nodes leave, with a controller that is killed meanwhile, and what must hold then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.real.system.checkpoint import Checkpoint
from tests.real.system.controller import eventually
from tests.real.system.departures import DisruptionCandidate, Moment
from tests.real.system.evidence import Witness
from tests.real.system.killable import WITHIN, Grounds, come_to, expect_nothing, killable
from tests.real.system.loners import ground
from tests.real.system.scene import Scene
from tests.real.system.wholeness import expect_parents_of_all_spans, is_marked, is_whole

# Every machine has four processors, so that each takes three of these pods and no other one.
PODS: Final = 6
MACHINES: Final = 2
_WEB: Final = f"""
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec:
  maxUnavailable: 2
  selector: {{matchLabels: {{app: web}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {PODS}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {{name: pause, image: pause, resources: {{requests: {{cpu: "1"}}}}}}
"""


class Departing:
    """Six pods on two machines, of which a budget lets two be away at a time."""

    def __init__(self, scene: Scene, checkpoint: Checkpoint, folder: Path) -> None:
        self.scene = scene
        self.checkpoint = checkpoint
        # Where the evidence of a test that fails is kept.
        self.folder = folder
        self._begun = time.time()
        self._bought = MACHINES

    def begin(self) -> None:
        """Have the pods, and wait until all run."""
        lab = self.scene.lab
        profile = lab.estate["instance_profile"]
        nodes = ground(lab.cluster, cpus=4, capacity_type="spot", instanceProfile=profile)
        self.scene.cluster.apply(nodes + _WEB)
        eventually(self._rests, self.scene.summary, within=WITHIN)

    def witnesses(self) -> Mapping[str, Witness]:
        return {"controller": self}

    def kill_at(self, way: DisruptionCandidate, moment: Moment) -> set[str]:
        """Let nodes leave, and kill the controller when the moment has come; return whose nodes must go."""
        # Counted anew: else what one try bought too much would fail all after it, its second one too.
        self._bought = len(self.scene.bought())
        reached = moment.arm(self.scene, self.checkpoint)
        going = way.begin(self.scene)
        self._bought += len(going)
        come_to(reached, self.scene, f"{way.name}, {moment.name}")
        self.scene.controller.kill()
        return going

    # --- what must hold

    def expect_replaced(self, going: set[str]) -> float:
        """Wait until these instances are replaced, once each; return for how long, in seconds."""
        took = eventually(lambda: self._replaced(going), self.scene.summary, within=WITHIN)
        bought = self.scene.bought()
        assert len(bought) == self._bought, f"bought {len(bought)}: {self.scene.summary()}"
        return took

    def _replaced(self, going: set[str]) -> bool:
        return not going & {i["InstanceId"] for i in self.scene.instances()} and self._rests()

    def _rests(self) -> bool:
        """Return whether all pods run, on nodes of which none bears a mark of leaving."""
        cluster = self.scene.cluster
        all_run = cluster.running() == len(cluster.pods()) == PODS
        return all_run and is_whole(self.scene, MACHINES) and not any(map(is_marked, cluster.nodes()))

    def expect_cause(self, way: DisruptionCandidate, going: set[str]) -> None:
        """Every one of these was said to have gone, for one reason."""
        launched = self.scene.controller.said("launched nodeclaim")
        claims = {line["provider_id"].rpartition("/")[2]: line["nodeclaim"] for line in launched}
        ended = self.scene.controller.said("deleted node")
        for instance in sorted(going):
            causes = {line["cause"] for line in ended if line.get("nodeclaim") == claims[instance]}
            assert causes == {way.cause}, f"{instance} {claims[instance]}: {causes}"

    def expect_parents_of_all_spans(self) -> None:
        """Wait until no stored span names a parent that is not there, and every claim's decision is there."""
        expect_parents_of_all_spans(self.scene, since=self._begun)

    def expect_nothing_left(self) -> None:
        """Take all pods away, and wait until there is no machine either, nor anything of one."""
        self.scene.cluster.scale("web", 0)
        expect_nothing(self.scene)
        assert len(self.scene.bought()) == self._bought


@contextmanager
def departing(grounds: Grounds) -> Iterator[Departing]:
    """Have the pods, their machines and the controller. At the end all must go by itself."""
    with killable(grounds) as (scene, checkpoint):
        there = Departing(scene, checkpoint, grounds.folder)
        there.begin()
        yield there
        there.expect_nothing_left()
