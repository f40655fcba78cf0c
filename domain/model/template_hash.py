"""Hashes of pools and node classes: the text by which static drift is found.

Claims bear the hashes of what they were made from. The hashes are ours, not those of Karpenter: by the
version, claims that Karpenter made are told from claims that differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import NodeClaim

HASH_VERSION: Final = "treenail.sh/v1"
NODEPOOL_HASH: Final = "karpenter.sh/nodepool-hash"
PROVISIONER_HASH: Final = "karpenter.sh/provisioner-hash"
NODE_CLASS_HASH: Final = "karpenter.k8s.aws/ec2nodeclass-hash"
# The annotation of a claim that tells what decides how much its node has.
SIZED_BY: Final = "treenail.sh/sized-by"
_HASHED_CLASS: Final = "EC2NodeClass"
# Requirements, limits, weight and disruption are no part of what a node is like once it is there.
_OF_POOL: Final = (
    "labels",
    "annotations",
    "taints",
    "startup_taints",
    "node_class",
    "kubelet",
    "termination_grace_period",
)
# What selectors find may change without the class saying anything else.
_OF_CLASS: Final = (
    "ami_family",
    "role",
    "instance_profile",
    "user_data",
    "tags",
    "block_devices",
    "metadata_options",
    "kubelet",
    "instance_store_raid0",
    "detailed_monitoring",
    "associate_public_ip",
    "network_interfaces",
    "connection_tracking",
    "nested_virtualization",
    "placement_group",
    "context",
)
# Other fields that may size nodes. They are looked up at each launch, so a change of them is no drift.
_OF_SIZE: Final = (*_OF_CLASS, "launch_template", "ip_prefix_count")


def pool_hash(pool: NodePool) -> str:
    """Return the hash of a pool's template; the order of what is listed in it does not matter."""
    return _hash({name: getattr(pool, name) for name in _OF_POOL} | _lifetime(pool))


def _lifetime(pool: NodePool) -> dict[str, object]:
    # Provisioners say it outside of what nodes are made from.
    return {} if pool.generation is Generation.V1ALPHA5 else {"expire_after": pool.disruption.expire_after}


def node_class_hash(node_class: NodeClass) -> str:
    """Return the hash of what a node class says itself, less its selectors."""
    return _hash({name: getattr(node_class, name) for name in _OF_CLASS})


def sizing_hash(node_class: NodeClass, kubelet: Kubelet) -> str:
    """Return the hash of all that decides, beside instance type and image, how much a node has."""
    return _hash({name: getattr(node_class, name) for name in _OF_SIZE} | {"kubelet": kubelet})


def stamps(pool: NodePool, node_class: NodeClass | None) -> dict[str, str]:
    """Return the annotations that tell what a claim of the pool is made from today, and their version.

    Where the class is not known, nothing is told of it.
    """
    old = pool.generation is Generation.V1ALPHA5
    hashes = {PROVISIONER_HASH if old else NODEPOOL_HASH: pool_hash(pool)}
    if node_class is not None and node_class.ref.kind == _HASHED_CLASS:
        hashes[NODE_CLASS_HASH] = node_class_hash(node_class)
    return hashes | {version_of(key): HASH_VERSION for key in hashes}


def own_stamps(thing: NodePool | NodeClass) -> dict[str, str]:
    """Return the annotations by which a pool or a node class tells its own hash, and their version.

    Of node classes there are hashes of EC2NodeClasses alone.
    """
    if isinstance(thing, NodePool):
        return stamps(thing, None)
    hashes = {NODE_CLASS_HASH: node_class_hash(thing)} if thing.ref.kind == _HASHED_CLASS else {}
    return hashes | {version_of(key): HASH_VERSION for key in hashes}


def version_of(key: str) -> str:
    """Return the annotation that says of which version the hash `key` is."""
    return f"{key}-version"


def claim_stamps(pool: NodePool, node_class: NodeClass) -> dict[str, str]:
    """Return the annotations of a new claim of the pool: the hashes of its template and of its sizing."""
    sized_by = sizing_hash(node_class, pool.kubelet or node_class.kubelet)
    return {**stamps(pool, node_class), SIZED_BY: sized_by}


def stamped(claim: NodeClaim, pool: NodePool, node_class: NodeClass) -> NodeClaim:
    """Return a new claim that tells what it is made from."""
    return replace(claim, annotations={**claim.annotations, **claim_stamps(pool, node_class)})


def _hash(content: Mapping[str, object]) -> str:
    written = json.dumps(_plain(content), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(written.encode(), digest_size=8).hexdigest()


def _plain(value: object) -> Any:  # noqa: ANN401 (what JSON writes)
    """Return a value as JSON has it: what is not set is left out, and lists are sorted."""
    match value:
        case Enum():
            return value.value
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {str(k): p for k, v in value.items() if (p := _plain(v)) not in _NOTHING}
        case tuple():
            return sorted((_plain(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _plain({one.name: getattr(value, one.name) for one in fields(value)})
        case _:
            return value


_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})
