"""Kubelet settings of a node, as a configuration file and as flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint

# Labels of these domains a kubelet may not give itself.
_RESTRICTED: Final = ("kubernetes.io", "k8s.io")
_SYNCED: Final = {labels.DO_NOT_SYNC_TAINTS: "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSettings:
    """Settings of a node's kubelet: the pods it admits, its labels and taints, and what users set."""

    max_pods: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    kubelet: Kubelet

    def own_labels(self) -> dict[str, str]:
        """Return the labels that the kubelet gives its node, sorted by key.

        One of them says that the kubelet sets its taints itself.
        """
        kept = {key: value for key, value in self.labels.items() if not _restricted(key)}
        return dict(sorted((kept | _SYNCED).items()))

    def node_labels_flag(self) -> str:
        """Return the flag that sets the labels."""
        return f"--node-labels={self._labels()}"

    def config(self) -> dict[str, object]:
        """Return the fields of a KubeletConfiguration; fields that are not set are left out."""
        kubelet = self.kubelet
        fields: dict[str, object] = {
            "maxPods": self.max_pods,
            "registerWithTaints": [_taint(taint) for taint in self.taints],
            "clusterDNS": list(kubelet.cluster_dns),
            "podsPerCore": kubelet.pods_per_core,
            "systemReserved": _amounts(kubelet.system_reserved),
            "kubeReserved": _amounts(kubelet.kube_reserved),
            "evictionHard": dict(kubelet.eviction_hard),
            "evictionSoft": dict(kubelet.eviction_soft),
            "evictionSoftGracePeriod": dict(kubelet.eviction_soft_grace_period),
            "evictionMaxPodGracePeriod": kubelet.eviction_max_pod_grace_period,
            "imageGCHighThresholdPercent": kubelet.image_gc_high_threshold_percent,
            "imageGCLowThresholdPercent": kubelet.image_gc_low_threshold_percent,
            "cpuCFSQuota": kubelet.cpu_cfs_quota,
        }
        return {name: value for name, value in fields.items() if value not in (None, [], {})}

    def flags(self, *, quoted: bool = False) -> list[str]:
        """Return all of it as flags, the lists in double quotes where they are to be `quoted`.

        The addresses of the cluster's DNS are none of them: images are told of those in other ways.
        """
        kubelet = self.kubelet
        flags: dict[str, str | int | None] = {
            "node-labels": self._labels(),
            "register-with-taints": ",".join(str(taint) for taint in self.taints),
            "max-pods": self.max_pods,
            "pods-per-core": kubelet.pods_per_core,
            "system-reserved": _pairs(_amounts(kubelet.system_reserved).items(), "="),
            "kube-reserved": _pairs(_amounts(kubelet.kube_reserved).items(), "="),
            "eviction-hard": _pairs(kubelet.eviction_hard, "<"),
            "eviction-soft": _pairs(kubelet.eviction_soft, "<"),
            "eviction-soft-grace-period": _pairs(kubelet.eviction_soft_grace_period, "="),
            "eviction-max-pod-grace-period": kubelet.eviction_max_pod_grace_period,
            "image-gc-high-threshold": kubelet.image_gc_high_threshold_percent,
            "image-gc-low-threshold": kubelet.image_gc_low_threshold_percent,
            "cpu-cfs-quota": None if kubelet.cpu_cfs_quota is None else str(kubelet.cpu_cfs_quota).lower(),
        }
        given = {name: value for name, value in flags.items() if value not in (None, "")}
        return [f"--{name}={_quoted(value) if quoted else value}" for name, value in given.items()]

    def _labels(self) -> str:
        return _pairs(self.own_labels().items(), "=")


def _amounts(reserved: Resources | None) -> dict[str, str]:
    return reserved.format() if reserved is not None else {}


def _taint(taint: Taint) -> dict[str, str]:
    written = {"key": taint.key, "effect": taint.effect.value}
    return {**written, "value": taint.value} if taint.value else written


def _restricted(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == of or domain.endswith("." + of) for of in _RESTRICTED)


def _quoted(value: str | int | None) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _pairs(items: Iterable[tuple[str, str]], between: str) -> str:
    return ",".join(f"{key}{between}{value}" for key, value in items)
