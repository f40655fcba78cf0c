"""The kubelet's settings, in a Provisioner, a NodePool of v1beta1 or an EC2NodeClass."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from ipaddress import ip_address
from typing import Literal, TypeAlias

from msgspec import field

from treenail.adapters.api.amounts import check_threshold, resources
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import NotNegative, Percent, PlainQuantity, Quantity, StrictModel
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.node_classes import Kubelet

Reservable: TypeAlias = Literal["cpu", "memory", "ephemeral-storage", "pid"]
Signal: TypeAlias = Literal[
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
]


class KubeletModel(StrictModel):
    """Settings of the kubelet."""

    cluster_dns: tuple[str, ...] = field(default=(), name="clusterDNS")
    max_pods: NotNegative | None = None
    pods_per_core: NotNegative | None = None
    system_reserved: dict[Reservable, PlainQuantity] = field(default_factory=dict)
    kube_reserved: dict[Reservable, PlainQuantity] = field(default_factory=dict)
    eviction_hard: dict[Signal, str] = field(default_factory=dict)
    eviction_soft: dict[Signal, str] = field(default_factory=dict)
    eviction_soft_grace_period: dict[Signal, str] = field(default_factory=dict)
    eviction_max_pod_grace_period: NotNegative | None = None
    image_gc_high_threshold_percent: Percent | None = field(default=None, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Percent | None = field(default=None, name="imageGCLowThresholdPercent")
    cpu_cfs_quota: bool | None = field(default=None, name="cpuCFSQuota")

    def value(self, at: str, *, container_runtime: str = "") -> Kubelet:
        """Return the settings; FieldError says what is wrong with them under the path `at`."""
        self._check(at)
        system, kube = self.system_reserved, self.kube_reserved
        return Kubelet(
            max_pods=self.max_pods,
            pods_per_core=self.pods_per_core,
            system_reserved=resources(_named(system), f"{at}.systemReserved") if system else None,
            kube_reserved=resources(_named(kube), f"{at}.kubeReserved") if kube else None,
            eviction_hard=_pairs(self.eviction_hard),
            eviction_soft=_pairs(self.eviction_soft),
            eviction_soft_grace_period=_pairs(self.eviction_soft_grace_period),
            eviction_max_pod_grace_period=self.eviction_max_pod_grace_period,
            image_gc_high_threshold_percent=self.image_gc_high_threshold_percent,
            image_gc_low_threshold_percent=self.image_gc_low_threshold_percent,
            cpu_cfs_quota=self.cpu_cfs_quota,
            cluster_dns=self.cluster_dns,
            container_runtime=container_runtime,
        )

    def _check(self, at: str) -> None:
        for index, address in enumerate(self.cluster_dns):
            _check_address(address, f"{at}.clusterDNS[{index}]")
        for name, thresholds in (("evictionHard", self.eviction_hard), ("evictionSoft", self.eviction_soft)):
            for signal, threshold in thresholds.items():
                check_threshold(threshold, f"{at}.{name}[{signal}]")
        for signal, period in self.eviction_soft_grace_period.items():
            span = parse_duration(period)
            if span is None or span < timedelta(0):
                problem = f"{quoted(period)} is not a duration (such as 1m30s)"
                raise FieldError(f"{at}.evictionSoftGracePeriod[{signal}]", problem)
        alone = sorted(self.eviction_soft.keys() ^ self.eviction_soft_grace_period.keys())
        if alone:
            problem = f"{alone[0]} must stand in evictionSoftGracePeriod too, and the other way round"
            raise FieldError(f"{at}.evictionSoft", problem)
        high, low = self.image_gc_high_threshold_percent, self.image_gc_low_threshold_percent
        if high is not None and low is not None and high <= low:
            problem = f"{high} must be more than imageGCLowThresholdPercent, {low}"
            raise FieldError(f"{at}.imageGCHighThresholdPercent", problem)


class OldKubeletModel(KubeletModel):
    """Settings of the kubelet in v1alpha5."""

    container_runtime: str = ""


def _check_address(address: str, at: str) -> None:
    try:
        ip_address(address)
    except ValueError:
        raise FieldError(at, f"{quoted(address)} is not an IP address (such as 10.100.0.10)") from None


def _named(quantities: Mapping[Reservable, Quantity]) -> dict[str, Quantity]:
    return {str(name): quantity for name, quantity in quantities.items()}


def _pairs(entries: Mapping[Signal, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(signal), text) for signal, text in entries.items()))
