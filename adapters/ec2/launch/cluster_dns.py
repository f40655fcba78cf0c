"""The addresses of the cluster's DNS, for images that do not find them out themselves."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Final

from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.resolved import ClusterFacts

# EKS gives the DNS of a cluster the tenth address of its services.
_NUMBER: Final = 10
_IPV6: Final = 6


def dns_addresses(cluster: ClusterFacts, settings: KubeletSettings) -> tuple[str, ...]:
    """Return the addresses of the kubelet's settings, or else the one of EKS; none if it is unknown.

    Raises:
        ValueError: one is no address.
    """
    said = settings.kubelet.cluster_dns
    for address in said:
        ip_address(address)
    if said or not cluster.service_cidr:
        return said
    return (str(ip_network(cluster.service_cidr)[_NUMBER]),)


def is_ipv6(address: str) -> bool:
    """Return whether an address is of IPv6, not IPv4."""
    return ip_address(address).version == _IPV6
