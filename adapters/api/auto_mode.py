"""EKS Auto Mode: its NodeClass, and pools of it, as Karpenter would have them.

For manifests alone: in a cluster, EKS itself sees to these pools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from treenail.adapters.api.documents import Manifest

_GROUP: Final = "eks.amazonaws.com"
_KIND: Final = "NodeClass"
_CLASS_VERSION: Final = "karpenter.k8s.aws/v1"
_CLASS_KIND: Final = "EC2NodeClass"
_OUR_LABELS: Final = "karpenter.k8s.aws/instance-"
_THEIR_LABELS: Final = f"{_GROUP}/instance-"
_COMPUTE_TYPE: Final = f"{_GROUP}/compute-type"
# What means the same in both; of the rest, nothing decides which nodes are bought.
_SAME_FIELDS: Final = (
    "capacityReservationSelectorTerms",
    "instanceProfile",
    "role",
    "securityGroupSelectorTerms",
    "subnetSelectorTerms",
    "tags",
)
# Auto Mode's nodes have Bottlerocket, whose second volume is for the data of containers.
_IMAGES: Final = [{"alias": "bottlerocket@latest"}]
# Where neither is named, EKS has the nodes run as a role of its own.
_AS_SOMEBODY: Final = ("instanceProfile", "role")
_ROLE: Final = "AmazonEKSAutoNodeRole"
_DATA_VOLUME: Final = "/dev/xvdb"
_DATA_SIZE: Final = "80Gi"
_VOLUME_FIELDS: Final = {
    "size": "volumeSize",
    "iops": "iops",
    "throughput": "throughput",
    "kmsKeyID": "kmsKeyID",
}


def as_karpenter(manifests: Sequence[Manifest]) -> tuple[tuple[Manifest, ...], tuple[str, ...]]:
    """Return the manifests with node classes of Auto Mode as EC2NodeClasses, and a warning on each.

    Where there is one, labels of Auto Mode's instances mean Karpenter's everywhere, and pools of such a class
    have the label that its nodes have. Manifests without one are returned as they are.
    """
    if not any(_is_class(m) or _is_pool_of_it(m) for m in manifests):
        return tuple(manifests), ()
    return tuple(map(_translated, manifests)), tuple(_warnings(manifests))


def _is_class(manifest: Manifest) -> bool:
    return manifest.kind == _KIND and manifest.api_version.startswith(f"{_GROUP}/")


def _is_pool_of_it(manifest: Manifest) -> bool:
    return manifest.kind == "NodePool" and _node_class_ref(_tree(manifest)).get("group") == _GROUP


def _tree(manifest: Manifest) -> Mapping[str, Any]:
    content = manifest.content
    tree = msgspec.json.decode(content) if isinstance(content, bytes) else content
    return tree if isinstance(tree, Mapping) else {}


def _node_class_ref(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    at: Any = tree
    for key in ("spec", "template", "spec", "nodeClassRef"):
        at = at.get(key) if isinstance(at, Mapping) else None
    return at if isinstance(at, Mapping) else {}


def _translated(manifest: Manifest) -> Manifest:
    tree = _tree(manifest)
    if _is_class(manifest):
        return replace(manifest, api_version=_CLASS_VERSION, kind=_CLASS_KIND, content=_ec2_node_class(tree))
    if _is_pool_of_it(manifest):
        return replace(manifest, content=_pool(_relabelled(tree)))
    return replace(manifest, content=_relabelled(tree))


def _ec2_node_class(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    written = tree.get("spec")
    spec = written if isinstance(written, Mapping) else {}
    storage = spec.get("ephemeralStorage")
    storage = storage if isinstance(storage, Mapping) else {}
    ebs = {ours: storage[theirs] for theirs, ours in _VOLUME_FIELDS.items() if theirs in storage}
    ebs = {"volumeSize": _DATA_SIZE, "volumeType": "gp3", "encrypted": True} | ebs
    own = {} if any(spec.get(name) for name in _AS_SOMEBODY) else {"role": _ROLE}
    return {
        "apiVersion": _CLASS_VERSION,
        "kind": _CLASS_KIND,
        "metadata": tree.get("metadata"),
        "spec": {name: spec[name] for name in _SAME_FIELDS if name in spec}
        | own
        | {
            "amiSelectorTerms": _IMAGES,
            "blockDeviceMappings": [{"deviceName": _DATA_VOLUME, "ebs": ebs}],
        },
    }


def _pool(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pool that refers to the translated class, and whose nodes have the label of Auto Mode."""
    template = tree["spec"]["template"]
    metadata = template.get("metadata") or {}
    ref = {**template["spec"]["nodeClassRef"], "group": "karpenter.k8s.aws", "kind": _CLASS_KIND}
    told = {
        **template,
        "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), _COMPUTE_TYPE: "auto"}},
        "spec": {**template["spec"], "nodeClassRef": ref},
    }
    return {**tree, "spec": {**tree["spec"], "template": told}}


def _relabelled(tree: Any) -> Any:  # noqa: ANN401 (any value of a manifest)
    """Return a tree in which labels of Auto Mode's instances are Karpenter's, as keys and as values."""
    match tree:
        case str():
            return tree.replace(_THEIR_LABELS, _OUR_LABELS, 1) if tree.startswith(_THEIR_LABELS) else tree
        case Mapping():
            return {_relabelled(key): _relabelled(value) for key, value in tree.items()}
        case list():
            return [_relabelled(one) for one in tree]
        case _:
            return tree


def _warnings(manifests: Sequence[Manifest]) -> Iterator[str]:
    for manifest in filter(_is_class, manifests):
        spec = _tree(manifest).get("spec")
        known = (*_SAME_FIELDS, "ephemeralStorage")
        left_out = sorted(str(key) for key in spec if key not in known) if isinstance(spec, Mapping) else []
        less = f", less {', '.join(left_out)}" if left_out else ""
        called = f"NodeClass {manifest.name}"
        yield f"{manifest.file}: {called}: is read as an EC2NodeClass with Bottlerocket{less}"
