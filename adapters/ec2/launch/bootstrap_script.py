"""User data of AL2 and Ubuntu: a call of /etc/eks/bootstrap.sh."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from treenail.adapters.ec2.launch.cluster_dns import dns_addresses, is_ipv6
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.mime import SHELL_SCRIPT, Part, joined, users_parts
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.node_classes import NodeClass


def bootstrap_script(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return the user's parts, which run first, and then the call.

    Raises:
        ValueError: the user's own data cannot be taken apart, or the cluster's DNS has no address.
    """
    words = ["/etc/eks/bootstrap.sh", cluster.name, *_options(node_class, cluster, settings)]
    script = (
        "#!/bin/bash -xe\n"
        "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n"
        f"{shlex.join(words)}\n"
    )
    theirs = users_parts(node_class.user_data, otherwise=lambda _text: SHELL_SCRIPT)
    return joined((*theirs, Part.of(SHELL_SCRIPT, script)))


def _options(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> Iterator[str]:
    yield from ("--apiserver-endpoint", cluster.endpoint)
    yield from ("--b64-cluster-ca", cluster.certificate_authority)
    dns = dns_addresses(cluster, settings)
    if dns:
        if is_ipv6(dns[0]):
            yield from ("--ip-family", "ipv6")
        yield from ("--dns-cluster-ip", ",".join(dns))
    if settings.kubelet.container_runtime:
        yield from ("--container-runtime", settings.kubelet.container_runtime)
    yield from ("--use-max-pods", "false")
    yield from ("--kubelet-extra-args", " ".join(settings.flags()))
    if node_class.instance_store_raid0:
        yield from ("--local-disks", "raid0")
