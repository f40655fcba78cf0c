"""AWS as the settings say."""

from __future__ import annotations

import json

import boto3

from treenail.adapters.controller.ground import Ground
from treenail.adapters.ec2.capacity import ClusterSettings
from treenail.adapters.ec2.clients import Clients
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.discovery.memory import Memory
from treenail.adapters.ec2.gate import Gate
from treenail.adapters.ec2.live_catalogue import LiveCatalogue
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.settings.settings import SettingError, Settings
from treenail.adapters.sqs.queue import SqsQueue
from treenail.adapters.sqs.settings import SqsSettings


def _session(settings: Settings) -> boto3.Session:
    return boto3.Session(region_name=settings.aws_region or None)


def open_ec2(ground: Ground, connection: Connection) -> EC2Cloud:
    """Return EC2 as the port `Cloud`.

    Raises:
        SettingError: no region is to be found.
    """
    settings = ground.settings
    try:
        clients = Clients.open(region=settings.aws_region, session=_session(settings))
    except ValueError as error:
        raise SettingError(f"AWS_REGION: {error}") from None
    aws = Aws(clients, Gate(ground.clock, ground.dice))
    memory = Memory(ground.clock, ground.dice, ground.telemetry.log)
    identity = ClusterIdentity(
        name=settings.cluster_name,
        endpoint=settings.cluster_endpoint,
        certificate_authority=settings.cluster_ca_bundle,
    )

    def server_version() -> str:
        return str(json.loads(connection.request("GET", "/version"))["gitVersion"])

    cluster = Cluster(aws, memory, identity, server_version)
    sizes = ClusterSettings(
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent, reserved_enis=settings.reserved_enis
    )
    catalogue = LiveCatalogue(aws, memory, cluster, settings=sizes, isolated=settings.isolated_vpc)
    return EC2Cloud(
        aws,
        ground.clock,
        cluster_name=settings.cluster_name,
        node_classes=catalogue,
        facts=cluster.facts,
    )


def open_queue(ground: Ground) -> SqsQueue:
    """Return the queue of EC2's warnings."""
    return SqsQueue(
        SqsSettings(name=ground.settings.interruption_queue),
        dice=ground.dice,
        telemetry=ground.telemetry,
        congested=ground.interruptions_congested,
        failed=ground.failed,
        session=_session(ground.settings),
    )
