"""User data of AL2023: a NodeConfig for nodeadm."""

from __future__ import annotations

from typing import Final

import yaml

from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.mime import SHELL_SCRIPT, Part, joined, users_parts
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass

_NODE_CONFIG: Final = "application/node.eks.aws"
# Wider than any line: a label list is not to be folded.
_WIDTH: Final = 10_000


def nodeadm(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return the user's parts and then ours: nodeadm merges them in that order, and the last one wins.

    Raises:
        NodeClassNotReadyError: the range of the cluster's services is unknown.
        ValueError: the user's own data cannot be taken apart.
    """
    if not cluster.service_cidr:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: AL2023 needs the range of the cluster's services, and nobody could tell it",
            reason="ClusterCIDRNotFound",
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
    ours = Part.of(_NODE_CONFIG, yaml.safe_dump(config, sort_keys=True, width=_WIDTH))
    return joined((*users_parts(node_class.user_data, otherwise=_kind), ours))


def _kind(text: str) -> str:
    return _NODE_CONFIG if _is_mapping(text) else SHELL_SCRIPT


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(yaml.safe_load(text), dict)
    except (yaml.YAMLError, ValueError, RecursionError):
        # Of these a date that does not exist is a ValueError, and nesting without end a RecursionError.
        return False
