"""Progress of a node in few words: its present stage, and what that waits for."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from treenail.domain.model.claim_conditions import MILESTONES
from treenail.domain.model.nodes import NodeView, Status, condition_of

_ENDING: Final = ("Drained", "VolumesDetached", "InstanceTerminating")


class Progress(StrEnum):
    """The progress of a node in its life."""

    LAUNCHING = "launching"
    BOOTING = "booting"
    STARTING = "starting"
    READY = "ready"
    CORDONED = "cordoned"
    LEAVING = "leaving"


def progress_of(view: NodeView) -> Progress:
    """Return how far a node is; one without a claim is ready, unless it is cordoned or goes."""
    if view.ending:
        return Progress.LEAVING
    if not view.launched:
        return Progress.LAUNCHING
    if not view.registered:
        return Progress.BOOTING
    if not view.initialized:
        return Progress.STARTING
    return Progress.CORDONED if view.leaving else Progress.READY


def waits_for(view: NodeView) -> str:
    """Return what a node that is not in use yet, or goes, waits for: as its claim's conditions say it."""
    claim = view.claim
    if claim is None:
        return ""
    if view.ending:
        held = (c for c in claim.conditions if c.type in _ENDING and c.status is not Status.TRUE)
        return next((c.message or c.reason for c in held), "")
    for milestone in MILESTONES:
        condition = condition_of(claim.conditions, milestone)
        if condition is None or condition.status is not Status.TRUE:
            return "" if condition is None else condition.message or condition.reason
    return ""
