"""Commitment of a plan: its places become promises where they still hold; the rest is decided anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.expected_pods import is_expected
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.consolidated_claims import Origin, write_origins
from treenail.domain.model.event_subjects import place_name
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources
from treenail.domain.model.template_hash import claim_stamps
from treenail.domain.scheduling.new_claims import claim_for
from treenail.domain.scheduling.revalidation import Held, HeldClaim, what_holds

# Gives what a claim is bought for that takes the pods of these nodes, by name: see `write_origins`.
BoughtFor: TypeAlias = Callable[[Iterable[str]], tuple[Origin, ...]]


def commit(
    model: ClusterModel,
    decided: PlanDecided,
    *,
    now: datetime,
    promise_lasts: timedelta,
    bought_for: BoughtFor = lambda _: (),
) -> PlanCommitted:
    """Promise the pods of a plan their places in `model`, and return what is to be carried out.

    What of the plan does not hold any more is left out. Pods dropped so are still waiting: they are
    decided on again. Each claim says what it is `bought_for`.
    """
    committer = _Committer(model, decided, now, promise_lasts, bought_for)
    held = what_holds(model, decided.plan)
    for nominated, target in held.nominations:
        committer.nominate(nominated, target)
    claims = tuple(committer.make(claim) for claim in held.claims)
    refused = tuple(
        (pod, group)
        for group in decided.plan.refused
        for uid in group.pods
        if (pod := model.objects.pods.get(uid)) is not None and model.waiting(uid)
    )
    return PlanCommitted(
        decision=decided.decision,
        claims=claims,
        nominations=held.nominations,
        refused=refused,
        places=tuple(_places(model, held, claims)),
        node_classes={str(c.node_class): model.objects.node_classes[str(c.node_class)] for c in claims},
        pools={c.pool: model.objects.pools[c.pool] for c in claims},
    )


def _places(model: ClusterModel, held: Held, claims: tuple[NodeClaim, ...]) -> Iterator[tuple[Pod, str]]:
    views = {
        target: model.objects.view(target)
        for target in dict.fromkeys(target for _, target in held.nominations)
    }
    names = {target: place_name(view) for target, view in views.items() if view is not None}
    for pod, target in held.nominations:
        if target in names and not is_expected(pod):
            yield pod, names[target]
    for planned, claim in zip(held.claims, claims, strict=True):
        name = place_name(NodeView(claim=claim))
        for pod in planned.pods:
            if not is_expected(pod):
                yield pod, name


class _Committer:
    def __init__(
        self,
        model: ClusterModel,
        decided: PlanDecided,
        now: datetime,
        promise_lasts: timedelta,
        bought_for: BoughtFor,
    ) -> None:
        self._model = model
        self._decided = decided
        self._now = now
        self._promise_lasts = promise_lasts
        self._stamps: dict[str, dict[str, str]] = {}
        self._bought_for = bought_for

    def nominate(self, pod: Pod, target: str) -> None:
        kept = is_expected(pod) or self._model.marks.leaves(pod)
        there = self._model.objects.ready(target) and not kept
        self._promise(pod, target, expires_at=self._now + self._promise_lasts if there else None)

    def make(self, held: HeldClaim) -> NodeClaim:
        pool = self._model.objects.pools[held.planned.pool]
        node_class = self._model.objects.node_classes[str(pool.node_class)]
        left = dict.fromkeys(sorted(pod.node_name for pod in held.pods if pod.bound))
        made = claim_for(
            held.planned,
            (pod.uid for pod in held.pods if not is_expected(pod)),
            pool=pool,
            decision=self._decided.decision,
            index=held.index,
            now=self._now,
            replaces=left,
            expected=Resources(Counter(p.owner.uid for p in held.pods if p.owner and is_expected(p))),
        )
        if pool.name not in self._stamps:  # alike for all claims of a pool, and there may be a thousand
            self._stamps[pool.name] = claim_stamps(pool, node_class)
        origins = write_origins(self._bought_for(left.keys()))
        claim = replace(made, annotations={**made.annotations, **self._stamps[pool.name], **origins})
        self._model.add_claim(claim)
        for pod in held.pods:
            self._promise(pod, claim.name, expires_at=None)
        return claim

    def _promise(self, pod: Pod, target: str, *, expires_at: datetime | None) -> None:
        owner = pod.owner
        self._model.keep(
            Promise(
                like=pod,
                target=target,
                decision=self._decided.decision.id,
                heir=owner.uid if owner is not None and (pod.bound or is_expected(pod)) else "",
                expected=is_expected(pod),
                expires_at=expires_at,
            )
        )
