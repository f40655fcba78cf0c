"""The pod maker of the workload controllers."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Final, TypeVar

from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import address_of
from treenail.adapters.fake.cluster.settings import ClusterFaults
from treenail.adapters.fake.luck import chance, fork
from treenail.domain.model.errors import AlreadyExistsError, InvalidError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Owner, Pod

T = TypeVar("T", bound=ApiObject)


class PodMaker:
    """Makes pods from templates. Where the API server refuses one, an event says so, and `problem` why.

    `refused` are the owners whose last object was refused: since when in a row (s), and why.
    """

    retry_after: Final = 5.0

    def __init__(self, plane: ControlPlane, server: ApiServer, faults: Callable[[], ClusterFaults]) -> None:
        self.problem = ""
        self.refused: dict[ObjectRef, tuple[float, str]] = {}
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
        return self._created(pod, owner, "FailedCreate")

    def create(self, thing: T, owner: Owner, *, reason: str = "FailedCreate") -> T | None:
        """Create an object of a workload; None where it is refused, of which an event tells with `reason`."""
        return self._created(thing, owner, reason)

    def _created(self, thing: T, owner: Owner, reason: str) -> T | None:
        where = address_of(thing)[1]
        namespace = where.partition("/")[0]
        about = ObjectRef(owner.kind, owner.name, namespace, owner.uid)
        try:
            if isinstance(thing, Pod):
                self._check(thing)
            created = self._server.create(thing)
        except (InvalidError, AlreadyExistsError) as error:
            # Without the random end of the name, so that equal failures are counted.
            why = str(error).replace(where, f"{namespace}/{owner.name}-")
            self.problem = why
            since, _ = self.refused.get(about, (self._plane.agenda.monotonic(), ""))
            self.refused[about] = since, why
            event = ClusterEvent(about, reason, f"Error creating: {why}", warning=True)
            self._plane.log.publish(event, f"{owner.kind.lower()}-controller")
            return None
        self.refused.pop(about, None)
        return created

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
