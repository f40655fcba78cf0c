"""Connections to AWS, made from the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import boto3
from botocore.exceptions import BotoCoreError, NoRegionError, ProfileNotFound

from treenail.adapters.controller.ground import Ground
from treenail.adapters.controller.late_calls import refuse_late_calls
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.clients import Clients, open_arc_client, region_of
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.live_catalogue import LiveCatalogue, Periods
from treenail.adapters.ec2.refresher import Refresher
from treenail.adapters.ec2.zonal_shifts import ArcZonalShifts
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.settings.settings import Settings
from treenail.adapters.settings.sources import SettingError
from treenail.adapters.sqs.queue import SqsQueue
from treenail.adapters.sqs.settings import SqsSettings
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.price_overrides import PriceOverrides


@dataclass(frozen=True, slots=True)
class EC2:
    """EC2 as the port `Cloud`, and what keeps its catalogue up to date once it is started.

    `zonal_shifts` are told of where they are to be heeded.
    """

    cloud: EC2Cloud
    refresher: Refresher
    zonal_shifts: ArcZonalShifts | None = None


def _session(ground: Ground) -> boto3.Session:
    """Return a session of the region that everything is in; it sends no change that may not be made."""
    region = region_of(boto3.Session(), ground.settings.aws_region)
    session = boto3.Session(region_name=region)
    refuse_late_calls(session, ground.tenure.check)
    return session


@contextmanager
def _naming_settings() -> Iterator[None]:
    """Let what boto3 cannot be opened with be told as a setting's fault."""
    try:
        yield
    except ProfileNotFound as error:
        raise _bad_setting("AWS_PROFILE", error) from None
    except (NoRegionError, ValueError) as error:
        raise _bad_setting("AWS_REGION", error) from None
    except BotoCoreError as error:
        raise _bad_setting("AWS_REGION, AWS_PROFILE", error) from None


def _bad_setting(variables: str, error: Exception) -> SettingError:
    return SettingError(f"{variables}: {' '.join(str(error).split())}")


def server_version(connection: Connection) -> str:
    """Return the API server's version, such as "v1.34.2".

    Raises:
        PortError: the API server does not tell.
    """
    answer = connection.request("GET", "/version")
    try:
        return str(json.loads(answer)["gitVersion"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnavailableError("GET /version: the answer tells no version of Kubernetes") from None


def eks_version(aws: Aws, name: str) -> str:
    """Return the version of a cluster's control plane, such as "1.34", as EKS tells.

    Raises:
        PortError: EKS does not tell.
    """
    ask = partial(aws.clients.eks.describe_cluster, name=name)
    version = aws.retries.call("eks", "DescribeCluster", ask).get("cluster", {}).get("version", "")
    if not version:
        raise UnavailableError(f"EKS tells no version of Kubernetes for the cluster {name}")
    return str(version)


def _version(settings: Settings, aws: Aws, connection: Connection) -> Callable[[], str]:
    if settings.eks_control_plane:
        return partial(eks_version, aws, settings.cluster_name)
    return partial(server_version, connection)


def open_ec2(ground: Ground, connection: Connection, prices: PriceOverrides) -> EC2:
    """Return EC2 with one's own prices in place of the public ones.

    Raises:
        SettingError: no region is to be found, or there is no such profile.
    """
    settings = ground.settings
    with _naming_settings():
        session = _session(ground)
        clients = Clients.open(session=session)
    aws = Aws(clients, CallRetries(ground.clock, ground.dice, may_change=ground.tenure.check))
    caches = AnswerCaches(ground.clock, ground.dice, ground.telemetry.log)
    identity = ClusterIdentity(
        name=settings.cluster_name,
        endpoint=settings.cluster_endpoint,
        certificate_authority=settings.cluster_ca_bundle,
    )
    cluster = Cluster(aws, caches, identity, _version(settings, aws, connection))
    sizes = NodeSizing(
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent, reserved_enis=settings.reserved_enis
    )
    catalogue = LiveCatalogue(
        aws,
        caches,
        cluster,
        settings=sizes,
        periods=Periods(subnets=settings.subnet_refresh_interval, images=settings.ami_refresh_interval),
        isolated=settings.isolated_vpc,
        prices=prices,
        reserved=settings.feature_gates["ReservedCapacity"],
    )
    refresher = Refresher(catalogue.refresh, dice=ground.dice, log=ground.telemetry.log, failed=ground.failed)
    cloud = EC2Cloud(
        aws,
        ground.clock,
        cluster_name=settings.cluster_name,
        node_classes=catalogue,
        facts=cluster.facts,
        default_instance_profile=settings.aws_default_instance_profile,
        isolated=settings.isolated_vpc,
        prices=prices,
        reserved=settings.feature_gates["ReservedCapacity"],
        dry_run=not settings.disable_dry_run,
        tags=settings.aws_tags,
        log=ground.telemetry.log,
        show=ground.telemetry.show,
    )
    if not settings.enable_zonal_shift:
        return EC2(cloud, refresher)
    arc = open_arc_client(clients, session)
    return EC2(cloud, refresher, ArcZonalShifts(aws, arc, cluster_name=settings.cluster_name))


def open_queue(ground: Ground) -> SqsQueue:
    """Return the queue of EC2's warnings, in the region that EC2 is asked in.

    Raises:
        SettingError: no region is to be found, or there is no such profile.
    """
    with _naming_settings():
        return SqsQueue(
            SqsSettings(name=ground.settings.interruption_queue),
            dice=ground.dice,
            telemetry=ground.telemetry,
            congested=ground.interruptions_congested,
            failed=ground.failed,
            session=_session(ground),
            may_change=ground.tenure.check,
        )
