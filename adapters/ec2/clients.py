"""boto3 clients of the AWS services, made once for the whole process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import boto3
from botocore.config import Config
from botocore.utils import InstanceMetadataRegionFetcher

from treenail.adapters.ec2.iam_client import IamClient

if TYPE_CHECKING:  # the types of clients are not there at run time
    from types_boto3_ec2.client import EC2Client
    from types_boto3_pricing.client import PricingClient
    from types_boto3_ssm.client import SSMClient

_CONNECT_SECONDS: Final = 5
# CreateFleet of many instances, and a page of many subnets' instances, take EC2 some time.
_READ_SECONDS: Final = 60
_MOST_CONNECTIONS: Final = 32
# The only regions that answer for prices, by the beginnings of the names of those they answer for.
_PRICING_REGIONS: Final = (("ap-", "ap-south-1"), ("cn-", "cn-northwest-1"), ("eu-", "eu-central-1"))
_OTHER_PRICING_REGION: Final = "us-east-1"


class ArcClient(Protocol):
    """The calls to ARC (Application Recovery Controller)."""

    def get_managed_resource(self, *, resourceIdentifier: str) -> Mapping[str, Any]: ...  # noqa: N803


class EksClient(Protocol):
    """The calls to EKS."""

    def describe_cluster(self, *, name: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Clients for one region. All threads may share them, as botocore's clients allow."""

    region: str
    ec2: EC2Client
    ssm: SSMClient
    pricing: PricingClient
    eks: EksClient
    iam: IamClient

    @classmethod
    def open(
        cls, *, region: str = "", endpoint_url: str | None = None, session: boto3.Session | None = None
    ) -> Clients:
        """Make the clients, with the credentials of `session`: those botocore finds, if None.

        `region` is by default what `region_of` finds; all services are at `endpoint_url`, where it is
        given. No service is called yet.

        Raises:
            ValueError: no region is to be found.
        """
        session = session or boto3.Session()
        found = region_of(session, region)
        make: Any = session.client
        here = {"region_name": found, "endpoint_url": endpoint_url, "config": _config()}
        return cls(
            region=found,
            ec2=make("ec2", **here),
            ssm=make("ssm", **here),
            pricing=make("pricing", **(here | {"region_name": pricing_region(found)})),
            eks=make("eks", **here),
            iam=make("iam", **here),
        )


def open_arc_client(
    clients: Clients, session: boto3.Session, *, endpoint_url: str | None = None
) -> ArcClient:
    """Return a client of ARC's zonal shifts in the region of `clients`: few need one, and it is large."""
    make: Any = session.client
    client: ArcClient = make(
        "arc-zonal-shift", region_name=clients.region, endpoint_url=endpoint_url, config=_config()
    )
    return client


def _config() -> Config:
    # Calls are repeated by `CallRetries`, which knows of all threads' calls, and nowhere else.
    return Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_MOST_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent_extra="treenail",
    )


def region_of(session: boto3.Session, region: str = "") -> str:
    """Return `region`, or else that of the session, of AWS_REGION or of the instance we run on.

    Raises:
        ValueError: no region is to be found.
    """
    # botocore reads no AWS_REGION, which is all that EKS sets in some pods.
    found = region or session.region_name or os.environ.get("AWS_REGION", "") or _own_region()
    if not found:
        raise ValueError("no region: set AWS_REGION")
    return found


def _own_region() -> str:
    return InstanceMetadataRegionFetcher().retrieve_region() or ""


def pricing_region(region: str) -> str:
    """Return the region that answers for the prices of `region`."""
    return next((at for start, at in _PRICING_REGIONS if region.startswith(start)), _OTHER_PRICING_REGION)
