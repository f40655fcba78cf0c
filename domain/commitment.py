"""Turning a plan into promises: what still holds is kept, the rest is dropped and decided anew."""

from __future__ import annotations

from datetime import datetime, timedelta

from treenail.domain.claims import claim_for
from treenail.domain.cluster import ClusterModel
from treenail.domain.nodes import NodeClaim
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.planning import PlanCommitted, PlanDecided
from treenail.domain.pods import Pod
from treenail.domain.promises import Promise
from treenail.domain.template_hash import stamped
from treenail.domain.usage import NODES


def commit(
    model: ClusterModel, decided: PlanDecided, *, now: datetime, promise_lasts: timedelta
) -> PlanCommitted:
    """Promise the pods of a plan their places in `model`, and return what is to be carried out.

    The cluster went on while the plan was made. A pod that is gone, bound or promised elsewhere loses
    its place, a room that shrank or is leaving gets only what fits, a claim whose pods are all gone or
    that would break its pool's limits is not made. Pods dropped here are still waiting: they are decided
    on again.
    """
    committer = _Committer(model, decided, now, promise_lasts)
    nominations = committer.nominate()
    claims = committer.claims()
    refused = tuple(
        (pod, group)
        for group in decided.plan.refused
        for uid in group.pods
        if (pod := model.pods.get(uid)) is not None and model.waiting(uid)
    )
    return PlanCommitted(
        decision=decided.decision,
        claims=claims,
        nominations=nominations,
        refused=refused,
        node_classes={str(c.node_class): model.node_classes[str(c.node_class)] for c in claims},
        pools={c.pool: model.pools[c.pool] for c in claims},
    )


class _Committer:
    def __init__(
        self, model: ClusterModel, decided: PlanDecided, now: datetime, promise_lasts: timedelta
    ) -> None:
        self._model = model
        self._decided = decided
        self._now = now
        self._promise_lasts = promise_lasts

    def _still_waiting(self, uid: str) -> Pod | None:
        """Return the pod if it still needs a place."""
        pod = self._model.pods.get(uid)
        if pod is None or self._model.promises.of(uid) is not None:
            return None
        if pod.provisionable:
            return pod
        view = self._model.view(self._model.view_name(pod.node_name)) if pod.bound else None
        leaving = view is not None and self._model.going(view)
        return pod if leaving and pod.reschedulable else None

    def _promise(self, pod: Pod, target: str, *, expires_at: datetime | None) -> None:
        owner = pod.owner
        self._model.keep(
            Promise(
                like=pod,
                target=target,
                decision=self._decided.decision.id,
                heir=owner.uid if owner is not None and pod.bound else "",
                expires_at=expires_at,
            )
        )

    def nominate(self) -> tuple[tuple[Pod, str], ...]:
        kept: list[tuple[Pod, str]] = []
        for uid, target in self._decided.plan.nominations.items():
            pod = self._still_waiting(uid)
            room = self._model.room(target)
            view = self._model.view(target)
            if pod is None or room is None or view is None or not pod.spec.requests.fits(room.free):
                continue
            lasts = self._now + self._promise_lasts if view.initialized else None
            self._promise(pod, target, expires_at=lasts)
            kept.append((pod, target))
        return tuple(kept)

    def claims(self) -> tuple[NodeClaim, ...]:
        made: list[NodeClaim] = []
        for index, planned in enumerate(self._decided.plan.claims):
            claim = self._claim(planned, index)
            if claim is not None:
                made.append(claim)
        return tuple(made)

    def _claim(self, planned: PlannedClaim, index: int) -> NodeClaim | None:
        pool = self._model.pools.get(planned.pool)
        pods = [pod for uid in planned.pods if (pod := self._still_waiting(uid)) is not None]
        if pool is None or pool.deleting or not pods:
            return None
        node_class = self._model.node_classes.get(str(pool.node_class))
        if node_class is None:
            return None
        left = self._model.limit_left(pool)
        if left is not None:
            counted = planned.largest.plus({NODES: 1})
            if any(counted.get(name, 0) > amount for name, amount in left.items()):
                return None
        uids = (pod.uid for pod in pods)
        decision = self._decided.decision
        made = claim_for(planned, uids, pool=pool, decision=decision, index=index, now=self._now)
        claim = stamped(made, pool, node_class)
        self._model.add_claim(claim)
        for pod in pods:
            self._promise(pod, claim.name, expires_at=None)
        return claim
