"""Node classes without user data, and claims that are as little drifted from them as they were before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.template_hash import NODE_CLASS_HASH, node_class_hash


def has_user_data(content: Mapping[str, Any]) -> bool:
    """Return whether an object has user data, which a snapshot leaves out."""
    return bool((content.get("spec") or {}).get("userData"))


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of a node class as it is written; FieldError where it cannot be read."""
    kind = kind_of(content["apiVersion"], content["kind"])
    [found] = (one for one in kind.read(content, Reading()).objects if isinstance(one, NodeClass))
    return node_class_hash(found)


def carry_over(objects: Iterable[Mapping[str, Any]], hashes: Mapping[str, str]) -> None:
    """Give claims that bear the hash of a class with user data that of the class without it."""
    for thing in objects:
        annotations = thing["metadata"].get("annotations", {})
        new = hashes.get(annotations.get(NODE_CLASS_HASH, ""))
        if new is not None:
            annotations[NODE_CLASS_HASH] = new
