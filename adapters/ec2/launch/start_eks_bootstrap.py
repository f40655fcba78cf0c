"""User data of Windows: a call of Start-EKSBootstrap.ps1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from treenail.adapters.ec2.launch.cluster_dns import dns_addresses, is_ipv6
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.node_classes import NodeClass

_SCRIPT: Final = r"$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"
_TAGS: Final = re.compile(r"<(/?)powershell>", re.IGNORECASE)
_BLOCK: Final = re.compile(r"\s*<powershell>(.*)</powershell>(.*)", re.IGNORECASE | re.DOTALL)


def start_eks_bootstrap(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return one block of PowerShell: the user's commands, and then the call.

    Raises:
        ValueError: the user's own data has more blocks than one, or the class asks of Windows what it cannot.
    """
    if node_class.instance_store_raid0:
        raise ValueError("Windows has nothing that joins local disks: instanceStorePolicy cannot be met")
    commands, more = _theirs(node_class.user_data.replace("\r", ""))
    call = " ".join((f'& "{_SCRIPT}"', *_arguments(cluster, settings)))
    return "\n".join((*_lines("<powershell>", commands, call, "</powershell>", more), ""))


def _lines(*texts: str) -> Iterator[str]:
    return (stripped for text in texts if (stripped := text.strip("\n")))


def _theirs(user_data: str) -> tuple[str, str]:
    """Return the user's commands, and the text to put after the block, such as <persist>."""
    tags = _TAGS.findall(user_data)
    if not tags:
        return user_data, ""
    block = _BLOCK.fullmatch(user_data)
    if tags != ["", "/"] or block is None:
        raise ValueError("it is neither commands nor begins with the only block of <powershell>")
    return block[1], block[2].strip()


def _arguments(cluster: ClusterFacts, settings: KubeletSettings) -> Iterator[str]:
    dns = dns_addresses(cluster, settings)
    if len(dns) > 1:
        raise ValueError("Windows takes one address of the cluster's DNS, and clusterDNS has more")
    if any(map(is_ipv6, dns)):
        raise ValueError("Windows cannot join a cluster of IPv6")
    given = {
        "EKSClusterName": cluster.name,
        "APIServerEndpoint": cluster.endpoint,
        "Base64ClusterCA": cluster.certificate_authority,
        "KubeletExtraArgs": " ".join(settings.flags(quoted=True)),
        "DNSClusterIP": "".join(dns),
        "ContainerRuntime": settings.kubelet.container_runtime,
    }
    for name, value in given.items():
        if value:
            yield f"-{name}"
            # In single quotes PowerShell takes all as it is, but for the quote itself.
            yield "'" + value.replace("'", "''") + "'"
