"""The real ports: the API server, EC2 or KWOK, SQS, and the packer's process."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from treenail.actors.runtime.ports import Ports
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.controller.ground import Ground, Outside
from treenail.adapters.controller.namespace import lease_namespace
from treenail.adapters.ec2.volume_costs import volume_cost, written_volume_cost
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.lease import KubernetesLease
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import RESOURCE_CLAIM, watched
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.settings.price_overrides import read_price_overrides
from treenail.adapters.settings.settings import CloudName, ProvisionFor
from treenail.adapters.settings.sources import SettingError
from treenail.adapters.solver.process import WorkerSolver
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter, InterruptionQueue, ZonalShifts
from treenail.domain.telemetry import metrics

if TYPE_CHECKING:
    from treenail.adapters.controller.webhook.webhook import Webhook

_END_SECONDS: Final = 2.0
# As controller-runtime has it: half of the time within which a lease is to be renewed.
_LEASE_SECONDS: Final = 5.0
_LEASE_QPS: Final = 10.0
_LEASE_BURST: Final = 10
# As many nodes of KWOK are created at a time as Karpenter launches claims.
_AT_ONCE: Final = 10
_LOGGER: Final = "controller"
# As its module has it, which is not imported where nothing is served.
_WEBHOOK_LOGGER: Final = "controller.webhook"


class NoQueue:
    """The port `InterruptionQueue` where there is no queue: no message ever comes."""

    def feed(self, to: Ref[QueueMessage]) -> None:
        """Have nothing to tell."""

    def stop(self) -> None:
        """Go on having nothing to tell."""

    def delete(self, receipts: tuple[str, ...]) -> None:
        """Have nothing to delete."""


def open_outside(ground: Ground) -> Outside:
    """Open all ports as the settings say. Nobody is asked anything yet, but AWS what it sells, on a thread.

    Raises:
        SettingError: there is no way to the cluster or to AWS, or the file of prices makes no sense.
    """
    with ExitStack() as opened:
        connection = _connect(ground)
        opened.callback(connection.close)
        reader = KubernetesReader(
            connection,
            congested=ground.congested,
            failed=ground.failed,
            log=ground.telemetry.log,
            uniform=ground.dice.uniform,
            watched=watched(
                workloads=ground.settings.provision_for is ProvisionFor.WISHES,
                gates={
                    **ground.settings.feature_gates,
                    RESOURCE_CLAIM.kind: not ground.settings.ignore_dra_requests,
                },
            ),
        )
        writer = KubernetesWriter(connection, clock=ground.clock, dice=ground.dice)
        queue = _queue(ground)
        webhook = _webhook(ground, connection, opened)
        # Threads: not before all that may refuse has been opened.
        cloud, shifts = _cloud(ground, connection, reader, writer, opened)
        solver = _solver(ground)
        opened.callback(solver.stop)
        lease = _lease(ground, opened)
        if webhook is not None:
            webhook.start()
        ports = Ports(
            reader=reader,
            writer=writer,
            cloud=cloud,
            queue=queue,
            solver=solver,
            zonal_shifts=shifts,
            # A node that KWOK plays has the volumes that somebody says it has.
            volume_cost=volume_cost if ground.settings.cloud is CloudName.EC2 else written_volume_cost,
        )
        close = opened.pop_all().close
        return Outside(ports, close, lease, follow=reader.warm, known=lambda: reader.known, lead=solver.start)


def _connect(ground: Ground) -> Connection:
    settings = ground.settings
    connection = _opened(
        ground,
        qps=settings.kube_client_qps,
        burst=settings.kube_client_burst,
        dated=ground.dated,
        may_write=ground.tenure.check,
    )
    ground.telemetry.log(
        "the API server in use", logger=_LOGGER, context=connection.context, server=connection.place
    )
    return connection


def _opened(ground: Ground, **how: Any) -> Connection:  # noqa: ANN401 (what `Connection.open` takes)
    settings = ground.settings
    kubeconfig = Path(settings.kubeconfig) if settings.kubeconfig else None
    try:
        return Connection.open(kubeconfig=kubeconfig, context=settings.kube_context or None, **how)
    except NotConnectedError as error:
        raise SettingError(f"KUBECONFIG: {error}") from None


def _lease(ground: Ground, opened: ExitStack) -> KubernetesLease:
    """Return the lease, on a connection of its own: no other request delays a renewal, and none needs it."""
    connection = _opened(ground, qps=_LEASE_QPS, burst=_LEASE_BURST, timeout=_LEASE_SECONDS)
    opened.callback(connection.close)
    name, namespace = ground.settings.leader_election_name, lease_namespace(ground.settings)
    return KubernetesLease(ApiCalls(connection), name=name, namespace=namespace)


def _webhook(ground: Ground, connection: Connection, opened: ExitStack) -> Webhook | None:
    if ground.settings.disable_webhook:
        ground.telemetry.log(
            "conversions are not served: DISABLE_WEBHOOK", logger=_WEBHOOK_LOGGER, level="warning"
        )
        return None
    # What makes certificates takes eight MiB.
    from treenail.adapters.controller.webhook.webhook import open_webhook  # noqa: PLC0415

    webhook = open_webhook(ground, connection)
    opened.callback(webhook.stop)
    return webhook


def _solver(ground: Ground) -> WorkerSolver:
    def lost(why: str) -> None:
        ground.telemetry.count(metrics.SOLVER_RESTARTS.name)
        ground.telemetry.log("packer's process lost", logger="controller.provisioner", why=why)

    return WorkerSolver(ground.clock, failed=ground.failed, lost=lost)


def _cloud(
    ground: Ground, connection: Connection, reader: ClusterReader, writer: ClusterWriter, opened: ExitStack
) -> tuple[Cloud, ZonalShifts | None]:
    prices = _prices(ground)
    # Clouds are imported when they are chosen: boto3 takes a quarter of a second, and many megabytes.
    if ground.settings.cloud is CloudName.EC2:
        return _ec2(ground, connection, prices, opened)
    from treenail.adapters.kwok.cloud import KwokCloud  # noqa: PLC0415
    from treenail.adapters.kwok.generic_types import generic_types  # noqa: PLC0415

    return KwokCloud(reader, writer, prices.applied(generic_types()), at_once=_AT_ONCE), None


def _prices(ground: Ground) -> PriceOverrides:
    file = ground.settings.price_overrides_file
    try:
        return read_price_overrides(Path(file)) if file else NO_OVERRIDES
    except ManifestError as error:
        raise SettingError(f"PRICE_OVERRIDES_FILE: {error}") from None


def _ec2(
    ground: Ground, connection: Connection, prices: PriceOverrides, opened: ExitStack
) -> tuple[Cloud, ZonalShifts | None]:
    from treenail.adapters.controller.aws import open_ec2  # noqa: PLC0415

    ec2 = open_ec2(ground, connection, prices)
    ec2.refresher.start()
    opened.callback(ec2.refresher.stop, _END_SECONDS)
    return ec2.cloud, ec2.zonal_shifts


def _queue(ground: Ground) -> InterruptionQueue:
    if not ground.settings.interruption_queue:
        return NoQueue()
    from treenail.adapters.controller.aws import open_queue  # noqa: PLC0415

    return open_queue(ground)
