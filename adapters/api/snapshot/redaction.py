"""Objects of a cluster as a snapshot has them: nothing but the fields that are read here.

What no model names is not written: environment, commands, arguments and images of containers, managed fields,
and data of any kind; nor are messages of conditions, which are anybody's text. Of annotations those stay that
mean something to Kubernetes, Karpenter or Treenail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.model import read
from treenail.adapters.api.snapshot.device_parts import reduce_parts

Tree: TypeAlias = dict[str, Any]

# Annotations by the domain that they belong to, and by their whole name.
_DOMAINS: Final = (
    "karpenter.sh",
    "karpenter.k8s.aws",
    "treenail.sh",
    "tracing.k8s.io",
    "batch.kubernetes.io",
    "pv.kubernetes.io",
    "volume.kubernetes.io",
    "storageclass.kubernetes.io",
)
_NAMES: Final = frozenset(
    {
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "controller.kubernetes.io/pod-deletion-cost",
        "kubernetes.io/config.mirror",
    }
)
_NODE_CLASSES: Final = ("EC2NodeClass", "AWSNodeTemplate")
# Their template's annotations are those of nodes, and part of the hash that says whether nodes drifted.
_POOLS: Final = ("NodePool", "Provisioner")


def redacted(api_version: str, kind: str, content: Mapping[str, object]) -> Tree:
    """Return an object with only the fields that are read of its kind, in the order of its model.

    Raises:
        FieldError: it cannot be read as its kind.
    """
    known = KINDS.get((api_version, kind))
    tree: Tree = (
        {"metadata": _head(content), "spec": content.get("spec", {})}
        if known is None
        else _as_read(read(known.model, content))
    )
    tree.pop("apiVersion", None)
    tree.pop("kind", None)
    metadata = tree.get("metadata", {})
    metadata.pop("managedFields", None)
    metadata.pop("resourceVersion", None)
    spec = tree.get("spec", {})
    if kind in _NODE_CLASSES:
        spec.pop("userData", None)
    _without_annotations(metadata)
    _without_messages(tree.get("status", {}))
    if kind not in _POOLS:
        # A PodTemplate has its template beside where others have a spec.
        _within({**spec, "template": tree.get("template", spec.get("template"))})
    return {"apiVersion": api_version, "kind": kind, **tree}


def _as_read(model: Any) -> Tree:  # noqa: ANN401 (a model of any kind)
    """Return the fields of a model, less a status of which nothing is read: it has no model of its own."""
    tree: Tree = msgspec.to_builtins(model)
    if isinstance(getattr(model, "status", None), dict):
        tree.pop("status", None)
    reduce_parts(type(model), tree)
    return tree


def _head(content: Mapping[str, object]) -> Tree:
    metadata = content.get("metadata")
    there = metadata if isinstance(metadata, Mapping) else {}
    return {key: there[key] for key in ("name", "namespace", "uid", "labels") if key in there}


def _within(value: object) -> None:
    """Take annotations off the templates within a spec."""
    match value:
        case dict():
            if isinstance(value.get("metadata"), dict):
                _without_annotations(value["metadata"])
            for one in value.values():
                _within(one)
        case list() | tuple():
            for one in value:
                _within(one)
        case _:
            pass


def _without_messages(status: Tree) -> None:
    for condition in status.get("conditions", ()):
        condition.pop("message", None)


def _without_annotations(metadata: Tree) -> None:
    annotations = metadata.pop("annotations", None)
    kept = {key: text for key, text in (annotations or {}).items() if _kept(key)}
    if kept:
        metadata["annotations"] = kept


def _kept(key: str) -> bool:
    domain = key.partition("/")[0]
    return key in _NAMES or any(domain == one or domain.endswith(f".{one}") for one in _DOMAINS)
