"""Freed places on claims in flight, promised to waiting pods that are equal to those that left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.claims import DECISION, expected_pods, promised_pods
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import PodSpec


def promise_freed_places(model: ClusterModel, now: datetime, views: Iterable[NodeView] | None = None) -> None:
    """Promise pods that wait the places that alike ones left on claims that are not launched yet.

    Only on these `views`, where they are said.

    What is left then of places for pods to come is promised to those that are still to come.

    To the scheduler alike pods are one as good as another: it gives the first node that comes to any of
    them. What such a claim is to be is not known but for its own pods: no others could be planned onto it.
    """
    for view in tuple(model.objects.views() if views is None else views):
        places = _left(model, view)
        if view.claim is None or not places:
            continue
        decision = view.claim.annotations.get(DECISION, "")
        waiting = [pod for pod in model.objects.pods.values() if model.waiting(pod.uid)]
        for pod in sorted((*waiting, *model.untried.pods(now)), key=lambda p: (p.created_at, p.uid)):
            if places.take(pod.spec):
                model.keep(Promise(like=pod, target=view.name, decision=decision))
        for owner, number in places.to_come():
            to_come = min(number, model.expected.unpromised(owner, now))
            for pod in model.expected.made_up(owner, to_come, now):
                model.keep(Promise(like=pod, target=view.name, decision=decision, heir=owner, expected=True))


class _Places:
    """The places that a claim was made with and that nobody has any more. Mutable.

    Some were left by pods that are bound elsewhere by now, others were for pods to come of a workload.
    """

    def __init__(self, specs: Iterable[PodSpec], to_come: Mapping[str, tuple[PodSpec | None, int]]) -> None:
        self._specs = list(specs)
        self._shapes = {owner: shape for owner, (shape, _) in to_come.items()}
        self._numbers = {owner: number for owner, (_, number) in to_come.items()}

    def __bool__(self) -> bool:
        return bool(self._specs or self.to_come())

    def take(self, spec: PodSpec, owner: str = "") -> bool:
        """Take a place for a pod, first one for pods to come of its own workload; return whether there is."""
        if self._numbers.get(owner, 0) and self._shapes[owner] in (None, spec):
            self._numbers[owner] -= 1
            return True
        if spec in self._specs:
            self._specs.remove(spec)
            return True
        other = next((one for one, _ in self.to_come() if self._shapes[one] == spec), None)
        if other is not None:
            self._numbers[other] -= 1
        return other is not None

    def to_come(self) -> tuple[tuple[str, int], ...]:
        """Return how many places for pods to come are left, by workload: where they still are like that."""
        numbers = self._numbers.items()
        return tuple((one, number) for one, number in numbers if number and self._shapes[one] is not None)


def _shape(model: ClusterModel, claim: NodeClaim, owner: str) -> PodSpec | None:
    """Return what the pods to come ask for that a claim was made for, None where later ones ask for more."""
    then, now = model.expected.like(owner, claim.created_at), model.expected.like(owner)
    return now.spec if then is not None and now is not None and then.spec == now.spec else None


def _left(model: ClusterModel, view: NodeView) -> _Places:
    """Return the places on a claim whose pods are bound elsewhere by now, less those given away again.

    Pods that still run on a node that goes are bound too, and have not left theirs: they keep their promise.
    """
    claim = view.claim
    if claim is None or claim.launched or model.marks.going(view):
        return _Places((), {})
    own = promised_pods(claim)
    promised = {promise.pod for promise in model.promises.at(view.name)}
    gone = (pod for uid in own if uid not in promised and (pod := model.objects.pods.get(uid)) is not None)
    numbers = sorted(expected_pods(claim).items())
    places = _Places(
        (pod.spec for pod in gone if pod.bound),
        {owner: (_shape(model, claim, owner), number) for owner, number in numbers},
    )
    for promise in model.promises.at(view.name):
        if promise.pod not in own:
            places.take(promise.spec, promise.like.owner.uid if promise.like.owner is not None else "")
    return places
