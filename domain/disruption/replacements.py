"""Replacements: claims made in place of nodes that go, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.causes import BUDGETED, REPLACED, Cause
from treenail.domain.model.claims import promised_pods
from treenail.domain.model.event_subjects import of_claim
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.nodes import NodeClaim


class Replacements:
    """Pods of nodes that are replaced, and the claims seen so far. Mutable."""

    def __init__(self) -> None:
        self._replaced: dict[str, Cause] = {}
        self._moving: dict[str, dict[str, Cause]] = {}
        self._launching: dict[str, None] = {}
        self._waiting: dict[str, None] = {}

    def order(self, order: DisruptNodes) -> None:
        """Take in which nodes are given up, and why."""
        if order.cause in REPLACED:
            self._replaced |= dict.fromkeys((view.name for view in order.nodes), order.cause)

    def forget(self, name: str) -> None:
        """Take in that a view is gone."""
        for known in (self._replaced, self._moving, self._launching, self._waiting):
            known.pop(name, None)

    def note(self, changed: NodeChanged) -> Iterator[ClusterEvent]:
        """Take a view in as it stands; yield what is to be told of a claim made for pods that move."""
        cause = self._replaced.get(changed.name)
        if cause is not None and changed.going:
            self._moving.setdefault(changed.name, {}).update({pod.uid: cause for pod in changed.pods})
        elif cause is not None:  # it stays after all
            self.forget(changed.name)
        claim = changed.view.claim if changed.view is not None else None
        if claim is not None and claim.uid and not claim.initialized and not claim.leaving:
            yield from self._of_claim(claim)

    def _of_claim(self, claim: NodeClaim) -> Iterator[ClusterEvent]:
        cause = self._made_for(claim)
        if cause is None:
            return
        if claim.name not in self._launching:
            self._launching[claim.name] = None
            message = f"Launching {claim.generation.claim_kind}: {BUDGETED[cause]}"
            yield ClusterEvent(of_claim(claim), "DisruptionLaunching", message)
        if claim.launched and claim.name not in self._waiting:
            self._waiting[claim.name] = None
            message = "Waiting on readiness to continue disruption"
            yield ClusterEvent(of_claim(claim), "DisruptionWaitingReadiness", message)

    def _made_for(self, claim: NodeClaim) -> Cause | None:
        """Return why the nodes go whose pods a claim was made for, None where it was made for others."""
        uids = promised_pods(claim)
        moving = (of_node[uid] for of_node in self._moving.values() for uid in uids if uid in of_node)
        return next(moving, None)
