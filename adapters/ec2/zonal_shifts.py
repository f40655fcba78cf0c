"""Zonal shifts of the EKS cluster, as ARC (Application Recovery Controller) tells them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from treenail.adapters.ec2.clients import ArcClient
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.zonal_shifts import ZonalShift

_APPLIED = "APPLIED"


class ArcZonalShifts:
    """The port `ZonalShifts`. EKS is asked once for what the cluster is called in AWS."""

    def __init__(self, aws: Aws, arc: ArcClient, *, cluster_name: str) -> None:
        self._aws = aws
        self._arc = arc
        self._cluster_name = cluster_name
        self._arn = ""

    def zonal_shifts(self) -> tuple[ZonalShift, ...]:
        """Return the zonal shifts of the cluster, sorted: those that somebody began, and those of autoshift.

        Raises:
            PortError: they cannot be read, or the cluster is not registered with ARC.
        """
        if not self._arn:
            self._arn = self._read_arn()
        ask = partial(self._arc.get_managed_resource, resourceIdentifier=self._arn)
        found = self._aws.retries.call("arc-zonal-shift", "GetManagedResource", ask)
        return tuple(
            sorted(
                ZonalShift(one["awayFrom"], one["expiryTime"], one.get("appliedStatus") == _APPLIED)
                for one in found.get("zonalShifts", ())
            )
        )

    def _read_arn(self) -> str:
        ask = partial(self._aws.clients.eks.describe_cluster, name=self._cluster_name)
        found: Mapping[str, Any] = self._aws.retries.call("eks", "DescribeCluster", ask)["cluster"]
        arn = found.get("arn", "")
        if not arn:
            raise UnavailableError(f"EKS tells no ARN of the cluster {self._cluster_name}")
        return str(arn)
