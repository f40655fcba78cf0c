"""Writes of nodes: create, patch, delete."""

from __future__ import annotations

from treenail.adapters.api.written.nodes import node_taints
from treenail.adapters.api.written.parts import Tree, taints
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.new_objects import new_node
from treenail.adapters.kubernetes.resources import NODE, RESOURCES
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Node
from treenail.domain.model.patches import NodePatch


def node_patch(patch: NodePatch) -> Tree:
    """Return the strategic merge patch of all but the taints.

    As the Go type of a node says, finalizers are merged by value and owners by uid, so that nothing need be
    read first and those of others stay.
    """
    metadata: Tree = {}
    labels = {**patch.labels, **dict.fromkeys(patch.remove_labels)}
    if labels:
        metadata["labels"] = labels
    annotations = {**patch.annotations, **dict.fromkeys(patch.remove_annotations)}
    if annotations:
        metadata["annotations"] = annotations
    if patch.add_finalizers:
        metadata["finalizers"] = list(patch.add_finalizers)
    if patch.remove_finalizers:
        metadata["$deleteFromPrimitiveList/finalizers"] = list(patch.remove_finalizers)
    if patch.owner is not None:
        metadata["ownerReferences"] = [_owner(patch.owner)]
    body: Tree = {"metadata": metadata} if metadata else {}
    if patch.unschedulable is not None:
        body["spec"] = {"unschedulable": patch.unschedulable}
    return body


def merged_taints(known: list[Tree], patch: NodePatch) -> list[Tree]:
    """Return the taints of a node as the patch would have them; a node has one per key and effect.

    Remaining taints are not changed: the time they were added at decides how long pods may tolerate them.
    """
    removed = taints(patch.remove_taints)
    kept = [t for t in known if _said(t) not in removed]
    there = [_said(t) for t in kept]
    added = [t for t in taints(patch.add_taints) if t not in there]
    replaced = {(t["key"], t["effect"]) for t in added}
    return [t for t in kept if (t.get("key"), t.get("effect")) not in replaced] + added


def _with_taints(body: Tree, known: list[Tree], patch: NodePatch) -> Tree:
    """Return the body of a patch with the taints in it, where the patch changes them."""
    wanted = merged_taints(known, patch)
    return body if wanted == known else {**body, "spec": {**body.get("spec", {}), "taints": wanted}}


def _said(taint: Tree) -> Tree:
    return {field: taint[field] for field in ("key", "value", "effect") if taint.get(field)}


def _owner(owner: ObjectRef) -> Tree:
    resource = RESOURCES.get(owner.kind)
    if resource is None:
        raise InvalidError(f"{owner} cannot own a node")
    return {
        "apiVersion": resource.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "blockOwnerDeletion": True,
    }


class NodeWrites:
    """Changes of nodes."""

    def __init__(self, calls: ApiCalls, retries: ConflictRetries) -> None:
        self._calls = calls
        self._retries = retries

    def create(self, node: Node) -> Node:
        """Create a node with its status: one request."""
        return Stored.of(NODE, self._calls.create(NODE.path(), new_node(node))).value(Node)

    def patch(self, name: str, patch: NodePatch, seen: Node | None) -> Node:
        """Change a node: one request, and one more to read it where its taints change and were not seen."""
        if seen is None:
            return self._retries.run(lambda: self._read_and_patch(name, patch, None))
        body = _with_taints(node_patch(patch), node_taints(seen), patch)
        if seen.unread or not body:
            return self._read_and_patch(name, patch, seen.resource_version)
        return self._send(name, body, str(seen.resource_version))

    def delete(self, name: str, uid: str) -> None:
        """Delete a node of this uid: one request."""
        self._calls.delete(NODE.path(name), uid=uid)

    def _read_and_patch(self, name: str, patch: NodePatch, version: int | None) -> Node:
        """Change a node that was not seen in full; where its taints change, they are read first."""
        body = node_patch(patch)
        precondition = str(version or "")
        if patch.add_taints or patch.remove_taints or not body:
            known = Stored.of(NODE, self._calls.read(NODE.path(name)))
            known.check(version)
            wanted = _with_taints(body, known.spec.taints, patch)
            if not wanted:
                return known.value(Node)
            precondition = known.version if wanted != body else precondition
            body = wanted
        return self._send(name, body, precondition)

    def _send(self, name: str, body: Tree, precondition: str) -> Node:
        # Strategic, for the sake of finalizers and owners. Taints have no key to be merged by, so that the
        # whole list is replaced: on the version that was read alone. (Server-side apply would have to own all
        # that it ever set.)
        if precondition:
            body["metadata"] = {**body.get("metadata", {}), "resourceVersion": precondition}
        return Stored.of(NODE, self._calls.merge_strategically(NODE.path(name), body)).value(Node)
