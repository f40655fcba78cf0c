"""The world outside as it is: the API server, EC2 or KWOK, SQS, and the packer's process."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from treenail.actors.system import Ports
from treenail.adapters.controller.ground import Ground, Outside
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.settings.settings import CloudName, SettingError
from treenail.adapters.solver.process import WorkerSolver
from treenail.domain import metrics
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter, InterruptionQueue, QueueMessage
from treenail.domain.runtime import Ref

# Both clouds are imported when they are chosen: boto3 takes a quarter of a second, and many megabytes.
if TYPE_CHECKING:
    from treenail.adapters.ec2.cloud import EC2Cloud


class NoQueue:
    """The port `InterruptionQueue` where there is no queue: no message ever comes."""

    def feed(self, to: Ref[QueueMessage]) -> None:
        """Have nothing to tell."""

    def stop(self) -> None:
        """Go on having nothing to tell."""

    def delete(self, receipts: tuple[str, ...]) -> None:
        """Have nothing to delete."""


def open_outside(ground: Ground) -> Outside:
    """Open all ports as the settings say. Nothing is asked of anybody yet.

    Raises:
        SettingError: there is no way to the cluster or to AWS.
    """
    with ExitStack() as opened:
        connection = _connect(ground)
        opened.callback(connection.close)
        reader = KubernetesReader(
            connection, congested=ground.congested, failed=ground.failed, log=ground.telemetry.log
        )
        writer = KubernetesWriter(connection, clock=ground.clock, dice=ground.dice)
        cloud = _cloud(ground, connection, reader, writer)
        queue = _queue(ground)
        # A process: not before all that may refuse has been opened.
        solver = _start_solver(ground)
        opened.callback(solver.stop)
        ports = Ports(reader=reader, writer=writer, cloud=cloud, queue=queue, solver=solver)
        return Outside(ports, opened.pop_all().close)


def _connect(ground: Ground) -> Connection:
    settings = ground.settings
    try:
        return Connection.open(
            kubeconfig=Path(settings.kubeconfig) if settings.kubeconfig else None,
            context=settings.kube_context or None,
            qps=settings.kube_client_qps,
            burst=settings.kube_client_burst,
        )
    except NotConnectedError as error:
        raise SettingError(f"KUBECONFIG: {error}") from None


def _start_solver(ground: Ground) -> WorkerSolver:
    def lost(why: str) -> None:
        ground.telemetry.count(metrics.SOLVER_RESTARTS.name)
        ground.telemetry.log("packer's process lost", logger="controller.provisioner", why=why)

    solver = WorkerSolver(ground.clock, failed=ground.failed, lost=lost)
    solver.start()
    return solver


def _cloud(ground: Ground, connection: Connection, reader: ClusterReader, writer: ClusterWriter) -> Cloud:
    if ground.settings.cloud is CloudName.EC2:
        return _ec2(ground, connection)
    from treenail.adapters.kwok.cloud import KwokCloud  # noqa: PLC0415

    return KwokCloud(reader, writer)


def _ec2(ground: Ground, connection: Connection) -> EC2Cloud:
    from treenail.adapters.controller.aws import open_ec2  # noqa: PLC0415

    return open_ec2(ground, connection)


def _queue(ground: Ground) -> InterruptionQueue:
    if not ground.settings.interruption_queue:
        return NoQueue()
    from treenail.adapters.controller.aws import open_queue  # noqa: PLC0415

    return open_queue(ground)
