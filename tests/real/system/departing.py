"""A cluster whose nodes leave, with a controller that is killed meanwhile, and what must hold then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.controller import eventually
from tests.real.system.departures import Departure, Moment
from tests.real.system.scene import Scene, machines
from tests.real.system.wholeness import expect_parents_of_all_spans, is_whole

# Every machine has four processors, so that each takes three of these pods and no other one.
PODS: Final = 6
MACHINES: Final = 2
_BOOT_SECONDS: Final = 1.0
# A message that nobody has dealt with comes again after half a minute.
_WITHIN: Final = 120.0
_LOOK_EVERY: Final = 0.003
MANIFESTS: Final = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  amiSelectorTerms: [{{alias: al2023@latest}}]
  instanceProfile: {profile}
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 1s, budgets: [{{nodes: "100%"}}]}}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [spot]}}
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
  replicas: {replicas}
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

    def __init__(self, scene: Scene, checkpoint: Checkpoint) -> None:
        self.scene = scene
        self.checkpoint = checkpoint
        self._begun = time.time()
        self._bought = MACHINES

    def begin(self) -> None:
        """Have the pods, and wait until all run."""
        profile, cluster = self.scene.lab.estate["instance_profile"], self.scene.lab.cluster
        self.scene.cluster.apply(MANIFESTS.format(profile=profile, cluster=cluster, replicas=PODS))
        eventually(self._rests, self.scene.summary, within=_WITHIN)

    def kill_at(self, way: Departure, moment: Moment) -> set[str]:
        """Let nodes leave, and kill the controller when the moment has come; return whose nodes must go."""
        reached = moment.arm(self.scene, self.checkpoint)
        going = way.begin(self.scene)
        self._bought += len(going)
        deadline = time.monotonic() + _WITHIN
        while not reached():
            assert time.monotonic() < deadline, (
                f"it never came to this: {way.name}, {moment.name}\n{self.scene.summary()}"
            )
            time.sleep(_LOOK_EVERY)
        self.scene.controller.kill()
        return going

    # --- what must hold

    def expect_replaced(self, going: set[str]) -> float:
        """Wait until these instances are replaced, once each; return for how long, in seconds."""
        took = eventually(lambda: self._replaced(going), self.scene.summary, within=_WITHIN)
        bought = self.scene.bought()
        assert len(bought) == self._bought, f"bought {len(bought)}: {self.scene.summary()}"
        return took

    def _replaced(self, going: set[str]) -> bool:
        return not going & {i["InstanceId"] for i in self.scene.instances()} and self._rests()

    def _rests(self) -> bool:
        """Tell whether all pods run, on nodes of which none bears a mark of leaving."""
        cluster = self.scene.cluster
        all_run = cluster.running() == len(cluster.pods()) == PODS
        return all_run and is_whole(self.scene, MACHINES) and not any(map(_marked, cluster.nodes()))

    def expect_cause(self, way: Departure, going: set[str]) -> None:
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
        cluster, scene = self.scene.cluster, self.scene
        cluster.scale("web", 0)
        eventually(
            lambda: not (cluster.pods() or cluster.nodes() or cluster.claims() or scene.instances()),
            scene.summary,
            within=_WITHIN,
        )
        assert len(scene.bought()) == self._bought


@contextmanager
def departing(plane: ControlPlane, lab: Lab, jaeger: Jaeger, folder: Path) -> Iterator[Departing]:
    """Have the pods, their machines and the controller. At the end all must go by itself."""
    lab.reset()
    with Checkpoint(plane, folder) as checkpoint:
        scene = Scene(plane, lab, jaeger, KUBECONFIG=str(checkpoint.kubeconfig))
        scene.cluster.install()
        try:
            with scene.controller, machines(scene, boot_seconds=_BOOT_SECONDS):
                there = Departing(scene, checkpoint)
                there.begin()
                yield there
                there.expect_nothing_left()
        finally:
            scene.cluster.clear()
    lab.check()


def _marked(node: dict[str, Any]) -> bool:
    taints = {taint["key"] for taint in node["spec"].get("taints", ())}
    balanced = "node.kubernetes.io/exclude-from-external-load-balancers" not in node["metadata"]["labels"]
    return bool(node["spec"].get("unschedulable")) or "karpenter.sh/disrupted" in taints or not balanced
