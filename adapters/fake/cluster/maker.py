"""The pod maker of the workload controllers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Final

from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.settings import ClusterFaults
from treenail.adapters.fake.luck import chance, fork
from treenail.domain.model.errors import AlreadyExistsError, InvalidError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Owner, Pod


class PodMaker:
    """Makes pods from templates. Where the API server refuses one, an event says so, and `problem` why."""

    retry_after: Final = 5.0

    def __init__(self, plane: ControlPlane, server: ApiServer, faults: Callable[[], ClusterFaults]) -> None:
        self.problem = ""
        self._plane = plane
        self._server = server
        self._faults = faults
        # Refusals take no luck from others.
        self._dice = fork(copy(plane.dice))

    def make(
        self, name: str, namespace: str, template: PodTemplate, owner: Owner, *, node: str = ""
    ) -> Pod | None:
        """Make a pod, bound to `node` where one is given; None where it is refused."""
        now = self._plane.store.now()
        pod = Pod(
            uid="",
            name=name,
            namespace=namespace,
            labels=template.labels,
            annotations=template.annotations,
            owners=(owner,),
            spec=template.spec,
            created_at=now,
            node_name=node,
            scheduled_at=now if node else None,
        )
        try:
            self._check(pod)
            return self._server.create(pod)
        except (InvalidError, AlreadyExistsError) as error:
            about = ObjectRef(owner.kind, owner.name, namespace, owner.uid)
            # Without the random end of the name, so that equal failures are counted.
            why = str(error).replace(f"{namespace}/{name}", f"{namespace}/{owner.name}-")
            self.problem = why
            event = ClusterEvent(about, "FailedCreate", f"Error creating: {why}", warning=True)
            self._plane.log.publish(event)
            return None

    def _check(self, pod: Pod) -> None:
        """Raise InvalidError where the faults of the cluster do not let a pod be made."""
        faults = self._faults()
        if chance(self._dice, faults.pods_refused):
            raise InvalidError(f"Pod {pod.key}: a webhook that must be asked does not answer")
        if faults.pod_quota is None:
            return
        others = (p for p in self._plane.store.all(Pod) if p.namespace == pod.namespace and not p.terminal)
        if sum(1 for _ in others) >= faults.pod_quota:
            raise InvalidError(f"Pod {pod.key}: exceeded quota: pods, limited: {faults.pod_quota}")
