"""Nodes on their way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders import START, view
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.leaving import Leaving

TRACE = SpanContext.root("test")
V1ALPHA5 = {"generation": Generation.V1ALPHA5}
CALL = "5f1e"
MARK = {labels.LAUNCH: f"{CALL}/0/digest"}
EXCLUDED = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
DELETING = {"deleting_since": START}
TAINTED = {"taints": (DISRUPTED,)}


def leaving(cause: Cause = Cause.DELETED, **fields: Any) -> Leaving:
    return Leaving(cause=cause, trace=TRACE, began_at=START, **fields)


def going(of_claim: Mapping[str, Any] | None = None, of_node: Mapping[str, Any] | None = None) -> NodeView:
    """A tainted node, and its claim that is being deleted, with its node."""
    return view(
        of_claim={**DELETING, **(of_claim or {})},
        of_node={**TAINTED, **DELETING, **(of_node or {})},
    )
