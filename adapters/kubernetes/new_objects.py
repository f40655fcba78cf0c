"""Objects as they are created: without what only the API server gives."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.written.claims import claim_manifest
from treenail.adapters.api.written.nodes import node_manifest
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.resources import RESOURCES
from treenail.domain.model.nodes import Node, NodeClaim

_GIVEN: Final = frozenset({"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"})


def new_claim(claim: NodeClaim) -> Tree:
    """Return what to create for `claim`. Its status is not to be created."""
    return {part: tree for part, tree in _new(claim_manifest(claim)).items() if part != "status"}


def new_node(node: Node) -> Tree:
    """Return what to create for `node`. As from a kubelet, the API server takes its status at once."""
    return _new(node_manifest(node))


def _new(manifest: Tree) -> Tree:
    metadata: Tree = {k: v for k, v in manifest["metadata"].items() if k not in _GIVEN}
    owners = metadata.get("ownerReferences", ())
    if owners:
        metadata["ownerReferences"] = [{"apiVersion": _version_of(o["kind"]), **o} for o in owners]
    return {**manifest, "metadata": metadata}


def _version_of(kind: str) -> str:
    """Return the version owners of this kind are referred to by; the API server refuses one without."""
    resource = RESOURCES.get(kind)
    return resource.api_version if resource is not None else "v1"
