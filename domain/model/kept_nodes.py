"""Nodes with a do-not-disrupt annotation."""

from __future__ import annotations

from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeView

# The second is what the first was called in the old API.
_KEEPING: Final = (labels.DO_NOT_DISRUPT, labels.DO_NOT_CONSOLIDATE)


def kept_by(view: NodeView) -> str | None:
    """Return the annotation by which a node is kept, None where it is not."""
    annotations = view.node.annotations if view.node is not None else {}
    return next((key for key in _KEEPING if annotations.get(key) == "true"), None)
