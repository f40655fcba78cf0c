"""The world of a case: the whole system on fakes whose machines come up at once."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from tests.adapters.ec2.launch.orders import FACTS
from tests.builders import DEFAULT_CLASS
from tests.conformance.instance_types import SIX, OwnCatalogue, Size
from tests.scenarios.manifests import Manifest, node_class, text
from treenail.actors.system import SystemSettings
from treenail.adapters.ec2.launch.template import Build, Template, template_of
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings
from treenail.domain.model.fleets import FleetRequest, Instance
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod

_AT_ONCE: Final = (0.0, 0.0)
_NEVER: Final = (1e9, 1e9)
_WAITS: Final = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
_QUICK_EC2: Final = EC2Settings(
    latency=(0.01, 0.01),
    fleet_latency=(0.1, 0.1),
    visible=_AT_ONCE,
    pending=(0.5, 0.5),
    boot=(0.5, 0.5),
    shutdown=(1.0, 1.0),
)
_QUICK_CLUSTER: Final = ClusterSettings(
    ready=(0.5, 0.5),
    start=(0.1, 0.1),
    stop=(0.1, 0.1),
    schedule=(0.01, 0.01),
    collect=(0.05, 0.05),
    system_daemons=(),
)
# Within this all pods have a node or were refused.
_SETTLES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Under what conditions a case plays: what is on sale, and what the controller is told.

    With `scheduler` the cluster's scheduler binds pods, as it likes; without, pods are bound as was decided.
    """

    types: Sequence[Size] | None = SIX
    scheduler: bool = False
    system: dict[str, Any] = field(default_factory=dict)
    ec2: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)

    def conditions(self) -> Conditions:
        absent: dict[str, Any] = {} if self.scheduler else {"schedule": _NEVER}
        return Conditions(
            system=SystemSettings(cluster_name="demo", **self.system),
            catalogue=None if self.types is None else OwnCatalogue(self.types),
            ec2=replace(_QUICK_EC2, **self.ec2),
            cluster=replace(_QUICK_CLUSTER, **absent, **self.cluster),
        )


USUAL: Final = Setting()


class Stage:
    """A rehearsal, and what the steps of a case look at."""

    def __init__(self, setting: Setting, seed: int = 1) -> None:
        self._scheduler = setting.scheduler
        self.rehearsal = Rehearsal(seed=seed, conditions=setting.conditions())
        self.requests: list[FleetRequest] = []
        self.rehearsal.ec2.on_running(lambda _, request: self.requests.append(request))
        # What a case remembers: labels of nodes, by what it calls them.
        self.noted: dict[object, str] = {}
        self._classes_given = False

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests, with the node class `default` beside the first unless they have it."""
        given = [self._waiting(one) for one in manifests]
        if not self._classes_given:
            self._classes_given = True
            names = [one["metadata"]["name"] for one in given if one["kind"] == "EC2NodeClass"]
            given = [*([] if "default" in names else [node_class()]), *given]
        self.rehearsal.apply(text(*given))

    def _waiting(self, manifest: Manifest) -> Manifest:
        """Return a pod as one that the scheduler has found no node for; others as they are."""
        if self._scheduler or manifest["kind"] != "Pod" or manifest["spec"].get("nodeName"):
            return manifest
        return {**manifest, "status": {"conditions": [_WAITS], **manifest.get("status", {})}}

    def settle(self, seconds: int = _SETTLES) -> None:
        """Let time pass until every pod has a node, or so long."""
        end = self.rehearsal.seconds + seconds
        self.run(1)
        while self.rehearsal.seconds < end and not self._settled():
            self.run(1)

    def run(self, duration: float | str) -> None:
        """Let time pass. Without a scheduler, pods are then bound to the nodes that were decided on."""
        self.rehearsal.run(duration)
        if not self._scheduler:
            self._bind()

    def _settled(self) -> bool:
        pods = self.rehearsal.pods()
        return bool(pods) and all(pod.node_name for pod in pods)

    def _bind(self) -> None:
        promises = self.rehearsal.system.model.promises
        by_claim = {claim.name: claim.node_name for claim in self.rehearsal.claims()}
        nodes = {node.name for node in self.rehearsal.nodes()}
        for pod in self.rehearsal.pods():
            promise = promises.of(pod.uid)
            if pod.node_name or promise is None:
                continue
            node = by_claim.get(promise.target, promise.target)
            if node in nodes:
                self.rehearsal.cluster.bind_pod(pod.namespace, pod.name, uid=pod.uid, node=node)

    def types(self) -> dict[str, InstanceType]:
        """Return the instance types of the case, by name."""
        catalogue = self.rehearsal.catalogue
        made = catalogue.instance_types(NodeClass(ref=DEFAULT_CLASS), Kubelet())
        return {one.name: one for one in made}

    def template(self, request: FleetRequest | None = None, *, max_pods: int = 29) -> Template:
        """Return the launch template of a request, or of the last one."""
        return template_of(
            request or self.requests[-1],
            FACTS,
            security_groups=("sg-1",),
            instance_profile="nodes",
            build=Build(max_pods=max_pods, efa=2 if (request or self.requests[-1]).efa else 0),
        )

    def user_data(self) -> str:
        """Return what the last node was told when it booted."""
        return base64.b64decode(self.template().data["UserData"]).decode()

    def pod(self, name: str) -> Pod:
        """Return the pod of a name, or the one whose name begins with it (one of a Deployment)."""
        found = self.pods(name)
        assert len(found) == 1, f"{len(found)} pods are named {name}: {self.rehearsal.summary()}"
        return found[0]

    def pods(self, name: str) -> list[Pod]:
        """Return the pods of a name, or all labelled app=name, or else "name-0", "name-1"..."""
        pods = self.rehearsal.pods()
        return (
            [pod for pod in pods if pod.name == name]
            or [pod for pod in pods if pod.labels.get("app") == name]
            or [pod for pod in pods if pod.name.startswith(f"{name}-")]
        )

    def node_of(self, pod: Pod) -> Node:
        """Return the node that a pod is on; AssertionError where it has none."""
        nodes = {node.name: node for node in self.rehearsal.nodes()}
        assert pod.node_name in nodes, f"{pod.name} has no node: {self.why(pod)}"
        return nodes[pod.node_name]

    def claim_of(self, pod: Pod) -> NodeClaim:
        """Return the claim of the node that a pod is on."""
        node = self.node_of(pod)
        return next(claim for claim in self.rehearsal.claims() if claim.node_name == node.name)

    def instance_of(self, pod: Pod) -> Instance:
        """Return the instance of the node that a pod is on."""
        wanted = self.claim_of(pod).instance_id
        return next(r.instance for r in self.rehearsal.ec2.live() if r.instance.id == wanted)

    def why(self, pod: Pod) -> str:
        """Return what the events say of a pod."""
        records = (record.event for record in self.rehearsal.cluster.events())
        return (
            "; ".join(f"{e.reason}: {e.message}" for e in records if e.about.name == pod.name) or "no event"
        )


Step: TypeAlias = Callable[[Stage], None]
