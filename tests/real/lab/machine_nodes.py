"""The Node that an instance's kubelet registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.real.lab.images import windows_releases
from tests.real.lab.user_data import KubeletOrders
from treenail.adapters.ec2.ami_families import TRAITS
from treenail.adapters.ec2.capacity import NodeSizing, capacity_of
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.overhead import overhead_of
from treenail.adapters.ec2.records import shipped_types
from treenail.domain.model import labels
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass, NodeClassRef

# By this KWOK knows that the machine of a node has joined.
PLAYED: Final = {"kwok.x-k8s.io/node": "fake"}
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_REF: Final = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "lab")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """An instance that runs, with what its user data says."""

    id: str
    name: str
    instance_type: str
    zone: str
    arch: str
    family: AmiFamily
    orders: KubeletOrders

    @classmethod
    def of(cls, described: Mapping[str, Any], orders: KubeletOrders) -> Machine:
        """Read an instance of DescribeInstances. Of which release a Windows is, only its image tells."""
        release = windows_releases().get(described["ImageId"], "")
        if orders.family.windows != bool(release):
            raise ValueError(
                f"{described['InstanceId']} boots {described['ImageId']}, told as {orders.family}"
            )
        return cls(
            id=described["InstanceId"],
            name=described["PrivateDnsName"],
            instance_type=described["InstanceType"],
            zone=described["Placement"]["AvailabilityZone"],
            arch=_ARCHITECTURES[described["Architecture"]],
            family=AmiFamily(f"Windows{release}") if release else orders.family,
            orders=orders,
        )

    def labels(self) -> dict[str, str]:
        """Return the labels the kubelet gives its node, and those of the cloud provider."""
        build = TRAITS[self.family].windows_build
        return {
            **self.orders.labels,
            **({labels.WINDOWS_BUILD: build} if build else {}),
            labels.ARCH: self.arch,
            labels.OS: "windows" if self.family.windows else "linux",
            labels.HOSTNAME: self.name,
            labels.INSTANCE_TYPE: self.instance_type,
            labels.ZONE: self.zone,
            labels.REGION: self.zone.rstrip("abcdef"),
        }

    @property
    def provider_id(self) -> str:
        return f"aws:///{self.zone}/{self.id}"

    def node(self) -> dict[str, Any]:
        """Return the Node as it is registered; it is not ready yet."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels(), "annotations": dict(PLAYED)},
            "spec": {
                "providerID": self.provider_id,
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
        node_class = NodeClass(ref=_REF, ami_family=self.family)
        node = NodeSettings.of(node_class, Kubelet(max_pods=self.orders.max_pods))
        capacity = capacity_of(record, node, NodeSizing())
        overhead = overhead_of(record, capacity, node)
        return {
            "capacity": dict(capacity.format()),
            "allocatable": dict(capacity.minus(overhead.total).at_least_zero().format()),
        }
