"""A cloud that passes every call on: override those that are to differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from treenail.domain.interruption.impairments import Impairments
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.purposes import Purpose
from treenail.domain.ports import Cloud


class DelegatingCloud:
    """The port `Cloud`: passes each call on to another cloud, such as `rehearsal.ec2`."""

    def __init__(self, to: Cloud) -> None:
        self._to = to

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        return self._to.instance_types(node_class, kubelet)

    def learn(self, observation: CapacityObserved) -> bool:
        return self._to.learn(observation)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        return self._to.launch(request)

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        return self._to.launched_by(token)

    def instances(self) -> tuple[Instance, ...]:
        return self._to.instances()

    def impairments(self) -> Impairments:
        return self._to.impairments()

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        self._to.terminate(ids, purpose=purpose)

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        self._to.tag(instance_id, tags)

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        return self._to.node_class_status(node_class, pools)

    def release(self, node_class: NodeClass) -> None:
        self._to.release(node_class)

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        return self._to.collect_profiles(node_classes)
