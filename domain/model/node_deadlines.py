"""Deadlines of a claim's end: when it must be gone, and when EC2 takes its machine."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.model import labels
from treenail.domain.model.instants import read_instant
from treenail.domain.model.nodes import NodeClaim, NodeView


def deadline_of(view: NodeView) -> datetime | None:
    """Return when a claim that is being deleted must be gone, None where it has all the time it takes."""
    claim = view.claim
    if claim is None or claim.deleting_since is None:
        return None
    said = read_instant(claim.annotations.get(labels.TERMINATION_TIMESTAMP, ""))
    if claim.termination_grace_period is None:
        return said
    granted = claim.deleting_since + claim.termination_grace_period
    return granted if said is None else min(said, granted)


def machine_ends_at(claim: NodeClaim | None) -> datetime | None:
    """Return when EC2 takes a claim's machine, as it says; None where it does not."""
    return read_instant(claim.annotations.get(labels.ENDS_AT, "")) if claim is not None else None
