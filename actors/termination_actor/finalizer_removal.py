"""Removal of our finalizers, of a node first and then of its claim: with the last one the objects go."""

from __future__ import annotations

import contextlib
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.ports import ClusterWriter
from treenail.domain.termination.drain import LetGo

_FINALIZERS: Final = (labels.TERMINATION_FINALIZER,)


def remove_finalizers(writer: ClusterWriter, step: LetGo) -> None:
    """Take our finalizers off what a step names; a node that is gone already needs none.

    Raises:
        PortError: the API server did not do it.
    """
    if step.node is not None:
        with contextlib.suppress(NotFoundError):
            writer.patch_node(step.node.name, NodePatch(remove_finalizers=_FINALIZERS))
    if step.claim is not None:
        writer.patch_claim(step.claim.name, ClaimPatch(remove_finalizers=_FINALIZERS))
