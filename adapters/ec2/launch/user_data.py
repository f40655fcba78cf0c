"""What an instance does when it first boots: join the cluster, beside what the node class adds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from types import MappingProxyType
from typing import Final

import yaml

from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.mime import NODE_CONFIG, SHELL_SCRIPT, Part, is_mime, joined, parts_of
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.node_classes import AmiFamily, NodeClass
from treenail.domain.ports import NodeClassNotReadyError

# EC2 takes no more, before it is encoded.
_MOST_BYTES: Final = 16_384
# EKS gives the DNS of a cluster the tenth address of its services.
_DNS_ADDRESS: Final = 10


def user_data(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return the user data of instances, for the same arguments always the same.

    Raises:
        NodeClassNotReadyError: it cannot be made for the class: its image family is one we cannot boot
            yet, its own user data is broken or too long, or what nodes must know of the cluster is missing.
    """
    write = _FAMILIES.get(node_class.ami_family)
    if write is None:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: images of the family {node_class.ami_family} cannot be launched yet"
        )
    try:
        text = write(node_class, cluster, settings)
        size = len(text.encode())
    except ValueError as error:
        # It is made of what users wrote, of which not everything can be checked before.
        raise NodeClassNotReadyError(f"{node_class.ref}: its user data cannot be made: {error}") from None
    if size > _MOST_BYTES:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: its user data is {size} bytes long, of which EC2 takes {_MOST_BYTES}"
        )
    return text


def _nodeadm(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    if not cluster.service_cidr:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: AL2023 needs the range of the cluster's services, and nobody could tell it"
        )
    spec: dict[str, object] = {
        "cluster": {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        },
        "kubelet": {"config": settings.config(), "flags": [settings.node_labels_flag()]},
    }
    if node_class.instance_store_raid0:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    ours = Part.of(NODE_CONFIG, yaml.safe_dump(config, sort_keys=True, width=10_000))
    return joined((*_users_parts(node_class), ours))


def _bootstrap_script(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    words = ["/etc/eks/bootstrap.sh", cluster.name, *_bootstrap_options(node_class, cluster, settings)]
    script = (
        "#!/bin/bash -xe\n"
        "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n"
        f"{shlex.join(words)}\n"
    )
    return joined((*_users_parts(node_class), Part.of(SHELL_SCRIPT, script)))


def _bootstrap_options(
    node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings
) -> Iterator[str]:
    yield from ("--apiserver-endpoint", cluster.endpoint)
    yield from ("--b64-cluster-ca", cluster.certificate_authority)
    dns = _dns(cluster, settings)
    if dns:
        if isinstance(ip_address(dns), IPv6Address):
            yield from ("--ip-family", "ipv6")
        yield from ("--dns-cluster-ip", dns)
    if settings.kubelet.container_runtime:
        yield from ("--container-runtime", settings.kubelet.container_runtime)
    yield from ("--use-max-pods", "false")
    yield from ("--kubelet-extra-args", " ".join(settings.flags()))
    if node_class.instance_store_raid0:
        yield from ("--local-disks", "raid0")


def _as_it_is(node_class: NodeClass, _cluster: ClusterFacts, _settings: KubeletSettings) -> str:
    return node_class.user_data


_FAMILIES: Final[Mapping[AmiFamily, Callable[[NodeClass, ClusterFacts, KubeletSettings], str]]] = (
    MappingProxyType(
        {
            AmiFamily.AL2: _bootstrap_script,
            AmiFamily.AL2023: _nodeadm,
            AmiFamily.UBUNTU: _bootstrap_script,
            AmiFamily.CUSTOM: _as_it_is,
        }
    )
)


def _users_parts(node_class: NodeClass) -> tuple[Part, ...]:
    """Return what the node class adds, as parts; nodeadm and cloud-init take ours after them."""
    text = node_class.user_data
    if not text.strip():
        return ()
    if is_mime(text):
        try:
            return parts_of(text)
        except ValueError as error:
            raise NodeClassNotReadyError(f"{node_class.ref}: its user data cannot be read: {error}") from None
    if node_class.ami_family is AmiFamily.AL2023 and _is_mapping(text):
        return (Part.of(NODE_CONFIG, text),)
    return (Part.of(SHELL_SCRIPT, text),)


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(yaml.safe_load(text), dict)
    except (yaml.YAMLError, ValueError, RecursionError):
        # Of these a date that does not exist is a ValueError, and nesting without end a RecursionError.
        return False


def _dns(cluster: ClusterFacts, settings: KubeletSettings) -> str:
    if settings.kubelet.cluster_dns:
        return settings.kubelet.cluster_dns[0]
    return str(ip_network(cluster.service_cidr)[_DNS_ADDRESS]) if cluster.service_cidr else ""
