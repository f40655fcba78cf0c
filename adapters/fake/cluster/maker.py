"""The pod maker of the workload controllers."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.workloads import PodTemplate
from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.domain.model.errors import AlreadyExistsError, InvalidError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.pods import Owner, Pod


class PodMaker:
    """Makes pods from templates. Where the API server refuses one, an event says so."""

    retry_after: Final = 5.0

    def __init__(self, plane: ControlPlane, server: ApiServer) -> None:
        self._plane = plane
        self._server = server

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
            return self._server.create(pod)
        except (InvalidError, AlreadyExistsError) as error:
            about = ObjectRef(owner.kind, owner.name, namespace, owner.uid)
            # Without the random end of the name, so that equal failures are counted.
            why = str(error).replace(f"{namespace}/{name}", f"{namespace}/{owner.name}-")
            event = ClusterEvent(about, "FailedCreate", f"Error creating: {why}", warning=True)
            self._plane.log.publish(event)
            return None
