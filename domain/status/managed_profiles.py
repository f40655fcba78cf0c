"""Instance profiles that are made from the role of a node class: names and paths in IAM."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG
from treenail.domain.model.node_classes import NodeClass

NODE_CLASS_TAG: Final = labels.AWS + "ec2nodeclass"


def profile_name(cluster: str, region: str, node_class: NodeClass) -> str:
    """Return the name of the profile of a node class's role; another role means another profile."""
    parts = (region, node_class.ref.name, node_class.uid, role_name(node_class))
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest()
    return f"{cluster}_{int.from_bytes(digest, 'big')}"


def role_name(node_class: NodeClass) -> str:
    """Return the name of a node class's role, which may be written with its path."""
    return node_class.role.rpartition("/")[2]


def profiles_path(cluster: str, region: str) -> str:
    """Return the path in IAM below which all managed profiles of a cluster are."""
    return f"/karpenter/{region}/{cluster}/"


def profile_path(cluster: str, region: str, node_class: NodeClass) -> str:
    """Return the path in IAM of the profiles of a node class."""
    return f"{profiles_path(cluster, region)}{node_class.uid}/"


def profile_tags(cluster: str, region: str, node_class: NodeClass) -> Mapping[str, str]:
    """Return the tags of a managed profile, by which permissions and people know whose it is."""
    return {
        **node_class.tags,
        f"kubernetes.io/cluster/{cluster}": "owned",
        CLUSTER_TAG: cluster,
        NODE_CLASS_TAG: node_class.ref.name,
        labels.REGION: region,
    }
