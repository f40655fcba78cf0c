"""Places on existing nodes of pods with resource claims: whether the devices are still free for them."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.pods import Pod
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds


class DevicePlaces:
    """The nominations of a plan, those of pods with resource claims looked at once more at this revision."""

    def __init__(self, model: ClusterModel, plan: PackingPlan) -> None:
        named = ((model.objects.pods.get(uid), target) for uid, target in plan.nominations.items())
        asking = [(pod, target) for pod, target in named if pod is not None and pod.spec.resource_claims]
        targets = dict.fromkeys(target for _, target in asking)
        found = (model.capacity.existing_node(target) for target in targets)
        nodes = tuple(node for node in found if node is not None)
        counted = model.capacity.count_devices((pod for pod, _ in asking), nodes)
        self._needs = counted.needs
        self._planned = plan.nominations
        self._nodes = {node.name: node for node in counted.existing_nodes}
        self._given: dict[str, Resources] = {}
        # Where the pod goes that a claim is counted for.
        self._led: dict[str, str] = {}

    def in_order(self) -> Iterable[tuple[str, str]]:
        """Return the plan's nominations; pods that other pods must be with come first."""
        return sorted(self._planned.items(), key=lambda one: not self._leads(one[0]))

    def _leads(self, uid: str) -> bool:
        needs = self._needs.get(uid)
        return needs is not None and bool(needs.leads)

    def keep(self, pod: Pod, target: str) -> bool:
        """Return whether a pod can have the devices of its claims at `target`, and count them if so."""
        if not pod.spec.resource_claims:
            return True
        needs, node = self._needs.get(pod.uid), self._nodes.get(target)
        if needs is None or node is None or needs.device_problem or not self._reached(needs, node):
            return False
        asked = Resources(needs.devices)
        given = self._given.get(target, NOTHING)
        if not asked.fits(node.free.minus(given)):
            return False
        self._given[target] = given.plus(asked)
        self._led |= dict.fromkeys(needs.leads, target)
        return True

    def _reached(self, needs: VolumeNeeds, node: ExistingNode) -> bool:
        described = Requirements.from_labels(node.labels)
        together = all(self._led.get(claim) == node.name for claim in needs.follows)
        return together and any(described.compatible(one) for one in needs.device_nodes)
