"""A cluster, an AWS account, a collector and the controller: everything a user has, less the machines."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.real.lab.joiner import Joiner
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.cluster import Cluster
from tests.real.system.controller import TREENAIL, Controller
from treenail.adapters.kubernetes.connection import Connection

SERVICE: Final = "treenail"


class Scene:
    """One test's world. The controller is not started yet: `with scene.controller as controller`."""

    def __init__(
        self,
        plane: ControlPlane,
        lab: Lab,
        jaeger: Jaeger | None,
        controller: Controller | None = None,
        /,
        program: Sequence[str | Path] = (TREENAIL,),
        **env: str,
    ) -> None:
        """Without a `controller`, one is made that is told where everything is, and `env` beside."""
        self.cluster = Cluster(plane)
        self.lab = lab
        self.jaeger = jaeger
        self.controller = controller or Controller(
            {
                **lab.environment,
                "KUBECONFIG": str(plane.kubeconfig),
                "CLUSTER_NAME": lab.cluster,
                "CLUSTER_ENDPOINT": plane.url,
                "CLUSTER_CA_BUNDLE": "Q0E=",
                "INTERRUPTION_QUEUE": lab.estate["queue_url"].rpartition("/")[2],
                **({"OTEL_EXPORTER_OTLP_ENDPOINT": jaeger.otlp_http} if jaeger is not None else {}),
                **env,
            },
            program=program,
        )

    def instances(self) -> list[dict[str, Any]]:
        """Return the cluster's instances that are not on their way out, oldest first."""
        return [i for i in self.every_instance() if i["State"]["Name"] in ("pending", "running")]

    def every_instance(self) -> list[dict[str, Any]]:
        """Return all instances there ever were since the lab was laid out, oldest first."""
        pages = self.lab.client("ec2").get_paginator("describe_instances").paginate()
        found = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
        return sorted(found, key=lambda i: (i["LaunchTime"], i["InstanceId"]))

    def bought(self) -> list[str]:
        """Return the ids of all instances there ever were since the lab was laid out."""
        return sorted(i["InstanceId"] for i in self.every_instance())

    def summary(self) -> str:
        """Return how things stand, and what the controller said last."""
        bought = [f"{i['InstanceId']} {i['InstanceType']}" for i in self.instances()]
        return f"{self.cluster.summary()}; instances {bought}\n{self.controller.last_lines()}"


@contextmanager
def machines(scene: Scene, *, boot_seconds: float = 0.5, broken: Collection[str] = ()) -> Iterator[Joiner]:
    """Let instances join the cluster meanwhile, but those that are `broken` (by id)."""
    api = Connection.open(kubeconfig=scene.cluster.plane.kubeconfig, qps=100, burst=200)
    joiner = Joiner(scene.lab.client("ec2"), api, boot_seconds=boot_seconds, deletes_nodes=True)
    joiner.broken.update(broken)
    stopping = threading.Event()
    thread = threading.Thread(target=joiner.run, args=(stopping,), name="joiner", daemon=True)
    thread.start()
    try:
        yield joiner
    finally:
        stopping.set()
        thread.join(10)
        api.close()
