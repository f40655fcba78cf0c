"""What was promised to pods on nodes that were being replaced when a process before this one ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from treenail.domain.claims import DECISION, promised_pods
from treenail.domain.cluster import ClusterModel
from treenail.domain.nodes import NodeClaim
from treenail.domain.pods import Pod
from treenail.domain.promises import Promise


class Restoring:
    """Promises such pods their places anew, so that these are not taken for empty, nor bought once more."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._marked: dict[str, None] = {}

    def begin(self, *, lasts_until: datetime) -> None:
        """Look at all there is, once that is known. On nodes that are ready promises last until then."""
        for claim in sorted(self._model.claims.values(), key=lambda c: c.name):
            view = self._model.view(claim.name)
            if view is None or self._model.going(view):
                continue
            for uid in promised_pods(claim):
                pod = self._model.pods.get(uid)
                if pod is not None and self._moves(pod, claim):
                    self._promise(pod, claim, lasts_until)

    def _moves(self, pod: Pod, claim: NodeClaim) -> bool:
        """Tell whether a pod still runs on another node, which bears a mark of leaving."""
        name = self._model.view_name(pod.node_name) if pod.bound else claim.name
        view = self._model.view(name)
        free = pod.reschedulable and self._model.promises.of(pod.uid) is None
        if name == claim.name or view is None or not view.leaving or not free:
            return False
        self._marked[name] = None
        return True

    def _promise(self, pod: Pod, claim: NodeClaim, lasts_until: datetime) -> None:
        owner = pod.owner
        promise = Promise(
            like=pod,
            target=claim.name,
            decision=claim.annotations.get(DECISION, ""),
            heir=owner.uid if owner is not None else "",
            expires_at=lasts_until if claim.initialized else None,
        )
        self._model.keep(promise)

    def look(self, names: Iterable[str]) -> None:
        """Look at views that changed: pods of one that stays after all need no other places."""
        for name in names:
            view = self._model.view(name) if name in self._marked else None
            if view is not None and not self._model.going(view):
                del self._marked[name]
                self._model.spare(name)
