"""User data of Bottlerocket: its settings, as TOML."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import tomli_w

from treenail.adapters.ec2.launch.cluster_dns import dns_addresses
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.node_classes import NodeClass

_ALIAS: Final = re.compile(r"bottlerocket@v?(\d+)\.(\d+)\..*", re.IGNORECASE)
_LATEST: Final = "bottlerocket@latest"
# From this version on `ephemeral-storage bind` knows itself what to bind.
_BINDS_BY_ITSELF: Final = (1, 46)
_DIRECTORIES: Final = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
# What of [settings.kubernetes] is the user's to set. An image does not boot with a key it does not know,
# and so others are left out, as they ever were.
_KNOWN: Final = frozenset(
    {
        "allowed-unsafe-sysctls",
        "api-server",
        "authentication-mode",
        "bootstrap-token",
        "cloud-provider",
        "cluster-certificate",
        "cluster-dns-ip",
        "cluster-domain",
        "cluster-name",
        "container-log-max-files",
        "container-log-max-size",
        "container-log-max-workers",
        "container-log-monitor-interval",
        "cpu-cfs-quota-enforced",
        "cpu-manager-policy",
        "cpu-manager-policy-options",
        "cpu-manager-reconcile-period",
        "credential-providers",
        "device-ownership-from-security-context",
        "event-burst",
        "event-qps",
        "eviction-hard",
        "eviction-max-pod-grace-period",
        "eviction-soft",
        "eviction-soft-grace-period",
        "hostname-override",
        "hostname-override-source",
        "ids-per-pod",
        "image-gc-high-threshold-percent",
        "image-gc-low-threshold-percent",
        "kube-api-burst",
        "kube-api-qps",
        "kube-reserved",
        "log-level",
        "max-pods",
        "memory-manager-policy",
        "memory-manager-reserved-memory",
        "node-ip",
        "node-labels",
        "node-taints",
        "pod-infra-container-image",
        "pod-pids-limit",
        "provider-id",
        "registry-burst",
        "registry-qps",
        "reserved-cpus",
        "seccomp-default",
        "server-certificate",
        "server-key",
        "server-tls-bootstrap",
        "shutdown-grace-period",
        "shutdown-grace-period-for-critical-pods",
        "single-process-oom-kill",
        "standalone-mode",
        "static-pods",
        "system-reserved",
        "topology-manager-policy",
        "topology-manager-policy-options",
        "topology-manager-scope",
        "use-ecr-credential-provider",
    }
)


def bottlerocket(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return the user's settings with ours in them, which win; labels are put together, taints are ours.

    Raises:
        ValueError: the user's own data is not TOML of tables where tables belong.
    """
    document = _parsed(node_class.user_data)
    all_settings = _table(document, "settings")
    theirs = {key: value for key, value in _table(all_settings, "kubernetes").items() if key in _KNOWN}
    ours = _kubernetes(cluster, settings)
    ours["node-labels"] = {**_table(theirs, "node-labels"), **settings.own_labels()}
    changed: dict[str, Any] = {**all_settings, "kubernetes": {**theirs, **ours}}
    if node_class.instance_store_raid0:
        commands = _table(all_settings, "bootstrap-commands")
        changed["bootstrap-commands"] = {**commands, "000-mount-instance-storage": _mounting(node_class)}
    return tomli_w.dumps({**document, "settings": changed})


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested without end") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is not TOML: {error}") from None


def _table(of: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = of.get(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{key} is not a table")  # noqa: TRY004 - of what users wrote, not of a type of ours
    return table


def _kubernetes(cluster: ClusterFacts, settings: KubeletSettings) -> dict[str, Any]:
    kubelet = settings.config()
    dns = dns_addresses(cluster, settings)
    given: dict[str, Any] = {
        "cluster-name": cluster.name,
        "api-server": cluster.endpoint,
        "cluster-certificate": cluster.certificate_authority,
        "cluster-dns-ip": dns[0] if len(dns) == 1 else list(dns),
        "max-pods": settings.max_pods,
        "node-taints": _taints(settings),
        "system-reserved": kubelet.get("systemReserved"),
        "kube-reserved": kubelet.get("kubeReserved"),
        "eviction-hard": kubelet.get("evictionHard"),
        "eviction-soft": kubelet.get("evictionSoft"),
        "eviction-soft-grace-period": kubelet.get("evictionSoftGracePeriod"),
        "eviction-max-pod-grace-period": kubelet.get("evictionMaxPodGracePeriod"),
        "image-gc-high-threshold-percent": _text(kubelet.get("imageGCHighThresholdPercent")),
        "image-gc-low-threshold-percent": _text(kubelet.get("imageGCLowThresholdPercent")),
        "cpu-cfs-quota-enforced": kubelet.get("cpuCFSQuota"),
    }
    return {key: value for key, value in given.items() if value not in (None, [])}


def _taints(settings: KubeletSettings) -> dict[str, list[str]]:
    by_key: defaultdict[str, list[str]] = defaultdict(list)
    for taint in settings.taints:
        by_key[taint.key].append(f"{taint.value}:{taint.effect.value}")
    return dict(by_key)


def _text(number: object) -> str | None:
    return None if number is None else str(number)


def _mounting(node_class: NodeClass) -> dict[str, Any]:
    bind = ["apiclient", "ephemeral-storage", "bind"]
    if not _binds_by_itself(node_class):
        bind += ["--dirs", *_DIRECTORIES]
    init = ["apiclient", "ephemeral-storage", "init"]
    return {"commands": [init, bind], "essential": True, "mode": "always"}


def _binds_by_itself(node_class: NodeClass) -> bool:
    """Return whether all images of the class are new enough for it; unknown without an alias."""
    aliases = [term.alias for term in node_class.ami_terms]
    if not aliases:
        return True  # the latest
    return all(alias.lower() == _LATEST or _release(alias) >= _BINDS_BY_ITSELF for alias in aliases)


def _release(alias: str) -> tuple[int, int]:
    known = _ALIAS.fullmatch(alias)
    return (int(known[1]), int(known[2])) if known is not None else (0, 0)
