"""The Node that an instance's kubelet registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.real.lab.user_data import KubeletOrders
from treenail.adapters.ec2.capacity import ClusterSettings, capacity_of
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.overhead import overhead_of
from treenail.adapters.ec2.records import shipped_types
from treenail.domain import labels
from treenail.domain.node_classes import AmiFamily, Kubelet, NodeClass, NodeClassRef

# By this KWOK knows that the machine of a node has joined.
PLAYED: Final = {"kwok.x-k8s.io/node": "fake"}
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_CLASS: Final = NodeClass(
    ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "lab"), ami_family=AmiFamily.AL2023
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """An instance that runs, with what its user data says."""

    id: str
    name: str
    instance_type: str
    zone: str
    arch: str
    orders: KubeletOrders

    @classmethod
    def of(cls, described: Mapping[str, Any], orders: KubeletOrders) -> Machine:
        """Read an instance of DescribeInstances."""
        return cls(
            id=described["InstanceId"],
            name=described["PrivateDnsName"],
            instance_type=described["InstanceType"],
            zone=described["Placement"]["AvailabilityZone"],
            arch=_ARCHITECTURES[described["Architecture"]],
            orders=orders,
        )

    def labels(self) -> dict[str, str]:
        """Return the labels the kubelet gives its node, and those of the cloud provider."""
        return {
            **self.orders.labels,
            labels.ARCH: self.arch,
            labels.OS: "linux",
            labels.HOSTNAME: self.name,
            labels.INSTANCE_TYPE: self.instance_type,
            labels.ZONE: self.zone,
            labels.REGION: self.zone.rstrip("abcdef"),
        }

    def node(self) -> dict[str, Any]:
        """Return the Node as it is registered; it is not ready yet."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels(), "annotations": dict(PLAYED)},
            "spec": {
                "providerID": f"aws:///{self.zone}/{self.id}",
                "taints": [taint.written() for taint in self.orders.taints],
            },
            "status": self.status(),
        }

    def adoption(self) -> dict[str, Any]:
        """Return the patch by which the kubelet takes over a Node of its name; it leaves taints alone."""
        return {"metadata": {"labels": self.labels(), "annotations": dict(PLAYED)}}

    def status(self) -> dict[str, dict[str, str]]:
        """Return what the machine has, and what of it pods may have."""
        record = next(r for r in shipped_types() if r.name == self.instance_type)
        node = NodeSettings.of(_CLASS, Kubelet(max_pods=self.orders.max_pods))
        capacity = capacity_of(record, node, ClusterSettings())
        overhead = overhead_of(record, capacity, node)
        return {
            "capacity": dict(capacity.format()),
            "allocatable": dict(capacity.minus(overhead.total).at_least_zero().format()),
        }
