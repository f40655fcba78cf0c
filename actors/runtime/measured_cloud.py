"""The cloud, with each call measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from treenail.domain.interruption.impairments import Impairments
from treenail.domain.model.errors import NodeClassNotReadyError, NotFoundError
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.purposes import Purpose
from treenail.domain.ports import Cloud, Telemetry
from treenail.domain.telemetry import metrics

R = TypeVar("R")

# What Karpenter calls the errors it knows; the others are called after their classes.
_CALLED: Final = {NotFoundError: "NodeClaimNotFoundError", NodeClassNotReadyError: "NodeClassNotReadyError"}
_NO_CAPACITY: Final = "InsufficientCapacityError"


class MeasuredCloud:
    """The `Cloud` port: another one, whose calls' durations and errors are counted.

    Methods and controllers have the names of Karpenter's that do the same, where there are such.
    """

    def __init__(
        self, cloud: Cloud, telemetry: Telemetry, monotonic: Callable[[], float], provider: str
    ) -> None:
        self._cloud = cloud
        self._telemetry = telemetry
        self._monotonic = monotonic
        self._provider = provider

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Measure `GetInstanceTypes`."""
        call = self._cloud.instance_types
        return self._measured("provisioner", "GetInstanceTypes", lambda: call(node_class, kubelet))

    def learn(self, observation: CapacityObserved) -> bool:
        """Pass on: nothing is asked."""
        return self._cloud.learn(observation)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        """Measure `Create`; that nothing was bought for lack of capacity counts as an error."""
        controller, method = "nodeclaim.lifecycle", "Create"
        answer = self._measured(controller, method, lambda: self._cloud.launch(request))
        if not answer.instances and any(error.capacity for error in answer.errors):
            self._failed(controller, method, _NO_CAPACITY)
        return answer

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        """Measure `Get`."""
        return self._measured("nodeclaim.lifecycle", "Get", lambda: self._cloud.launched_by(token))

    def instances(self) -> tuple[Instance, ...]:
        """Measure `List`."""
        return self._measured("nodeclaim.garbagecollection", "List", self._cloud.instances)

    def impairments(self) -> Impairments:
        """Measure `ListStatuses`, which Karpenter has no such method for."""
        return self._measured("interruption", "ListStatuses", self._cloud.impairments)

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Measure `Delete`."""
        terminate = self._cloud.terminate
        self._measured("nodeclaim.lifecycle", "Delete", lambda: terminate(ids, purpose=purpose))

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Measure `Tag`, which Karpenter has no such method for."""
        self._measured("nodeclaim.tagging", "Tag", lambda: self._cloud.tag(instance_id, tags))

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        """Measure `GetNodeClassStatus`, which Karpenter has no such method for."""
        status = self._cloud.node_class_status
        return self._measured("nodeclass", "GetNodeClassStatus", lambda: status(node_class, pools))

    def release(self, node_class: NodeClass) -> None:
        """Measure `Release`, which Karpenter has no such method for."""
        self._measured("nodeclass", "Release", lambda: self._cloud.release(node_class))

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Measure `CollectProfiles`, which Karpenter has no such method for."""
        collect = self._cloud.collect_profiles
        return self._measured("nodeclass", "CollectProfiles", lambda: collect(node_classes))

    def _measured(self, controller: str, method: str, call: Callable[[], R]) -> R:
        began = self._monotonic()
        try:
            return call()
        except Exception as error:
            self._failed(controller, method, _CALLED.get(type(error), type(error).__name__))
            raise
        finally:
            self._telemetry.observe(
                metrics.CLOUDPROVIDER_DURATION.name,
                max(0.0, self._monotonic() - began),
                controller=controller,
                method=method,
                provider=self._provider,
            )

    def _failed(self, controller: str, method: str, error: str) -> None:
        self._telemetry.count(
            metrics.CLOUDPROVIDER_ERRORS.name,
            controller=controller,
            method=method,
            provider=self._provider,
            error=error,
        )
