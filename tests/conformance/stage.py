"""The world of a case: the whole system on fakes whose machines come up at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from tests.conformance.instance_types import SIX, OwnCatalogue, Size
from tests.scenarios.manifests import Manifest, node_class, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed.rehearsal import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Pod

_AT_ONCE: Final = (0.0, 0.0)
_QUICK_EC2: Final = EC2Settings(
    latency=(0.01, 0.01),
    fleet_latency=(0.1, 0.1),
    visible=_AT_ONCE,
    pending=(0.5, 0.5),
    boot=(0.5, 0.5),
    shutdown=(1.0, 1.0),
)
_QUICK_CLUSTER: Final = ClusterSettings(
    ready=(0.5, 0.5), start=(0.1, 0.1), stop=(0.1, 0.1), schedule=(0.01, 0.01), collect=(0.05, 0.05)
)
# Within this all pods have a node or were refused.
_SETTLES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Under what conditions a case plays: what is on sale, and what the controller is told."""

    types: Sequence[Size] | None = SIX
    system: dict[str, Any] = field(default_factory=dict)
    ec2: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)

    def conditions(self) -> Conditions:
        return Conditions(
            system=SystemSettings(cluster_name="demo", **self.system),
            catalogue=None if self.types is None else OwnCatalogue(self.types),
            ec2=replace(_QUICK_EC2, **self.ec2),
            cluster=replace(_QUICK_CLUSTER, **self.cluster),
        )


USUAL: Final = Setting()


class Stage:
    """A rehearsal, and what the steps of a case look at."""

    def __init__(self, setting: Setting, seed: int = 1) -> None:
        self.rehearsal = Rehearsal(seed=seed, conditions=setting.conditions())
        self.requests: list[FleetRequest] = []
        self.rehearsal.ec2.on_running(lambda _, request: self.requests.append(request))
        # What a case remembers, by the name that it gave it.
        self.noted: dict[str, Any] = {}
        self._classes_given = False

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests, with the node class `default` beside the first unless they have it."""
        given = list(manifests)
        if not self._classes_given:
            self._classes_given = True
            names = [one["metadata"]["name"] for one in given if one["kind"] == "EC2NodeClass"]
            given = [*([] if "default" in names else [node_class()]), *given]
        self.rehearsal.apply(text(*given))

    def settle(self) -> None:
        """Let time pass until every pod has a node, or half a minute."""
        rehearsal = self.rehearsal
        end = rehearsal.seconds + _SETTLES
        while rehearsal.seconds < end and not self._settled():
            rehearsal.run(1)

    def _settled(self) -> bool:
        pods = self.rehearsal.pods()
        return bool(pods) and all(pod.node_name for pod in pods)

    def pod(self, name: str) -> Pod:
        """Return the pod of a name, or the one whose name begins with it (one of a Deployment)."""
        found = self.pods(name)
        assert len(found) == 1, f"{len(found)} pods are named {name}: {self.rehearsal.summary()}"
        return found[0]

    def pods(self, name: str) -> list[Pod]:
        """Return the pods of a name, or those of a workload of this name, or of "name-0", "name-1"..."""
        pods = self.rehearsal.pods()
        exactly = [pod for pod in pods if pod.name == name]
        return exactly or [pod for pod in pods if pod.name.startswith(f"{name}-")]

    def node_of(self, pod: Pod) -> Node:
        """Return the node that a pod is on; AssertionError where it has none."""
        nodes = {node.name: node for node in self.rehearsal.nodes()}
        assert pod.node_name in nodes, f"{pod.name} has no node: {self.why(pod)}"
        return nodes[pod.node_name]

    def why(self, pod: Pod) -> str:
        """Return what the events say of a pod."""
        records = (record.event for record in self.rehearsal.cluster.events())
        return (
            "; ".join(f"{e.reason}: {e.message}" for e in records if e.about.name == pod.name) or "no event"
        )


Step: TypeAlias = Callable[[Stage], None]
