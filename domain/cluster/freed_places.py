"""Freed places on claims in flight, promised to waiting pods that are equal to those that left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.claims import DECISION, expected_pods, promised_pods
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod, PodSpec

# What alike pods have in common: their namespace too, as a spec selects other pods by it.
_Kind: TypeAlias = tuple[str, PodSpec]


def promise_freed_places(model: ClusterModel, now: datetime, views: Iterable[NodeView] | None = None) -> None:
    """Promise waiting pods the places that equal pods left, on claims that are not launched yet.

    Only claims of `views` are looked at, where given. Places left over from pods to come are promised to pods
    that are still to come.

    To the scheduler equal pods are interchangeable: the first node that comes may be given any of them. The
    shape of such a claim is known only as far as its own pods need it: no others could be planned onto it.
    """
    for view in tuple(model.objects.views() if views is None else views):
        places = _left(model, view)
        if view.claim is None or not places:
            continue
        decision = view.claim.annotations.get(DECISION, "")
        waiting = [pod for pod in model.objects.pods.values() if model.waiting(pod.uid)]
        for pod in sorted((*waiting, *model.untried.pods(now)), key=lambda p: (p.created_at, p.uid)):
            if places.take(_kind(pod)):
                model.keep(Promise(like=pod, target=view.name, decision=decision))
        for owner, number in places.to_come():
            to_come = min(number, model.expected.unpromised(owner, now))
            for pod in model.expected.made_up(owner, to_come, now):
                model.keep(Promise(like=pod, target=view.name, decision=decision, heir=owner, expected=True))


class _Places:
    """The places that a claim was made with and that nobody has any more. Mutable.

    Some were left by pods that are bound elsewhere by now, others were for pods to come of a workload.
    """

    def __init__(self, kinds: Iterable[_Kind], to_come: Mapping[str, tuple[_Kind | None, int]]) -> None:
        self._kinds = list(kinds)
        self._shapes = {owner: shape for owner, (shape, _) in to_come.items()}
        self._numbers = {owner: number for owner, (_, number) in to_come.items()}

    def __bool__(self) -> bool:
        return bool(self._kinds or self.to_come())

    def take(self, kind: _Kind, owner: str = "") -> bool:
        """Take a place for a pod, first one for pods to come of its own workload; return whether there is."""
        if self._numbers.get(owner, 0) and self._shapes[owner] in (None, kind):
            self._numbers[owner] -= 1
            return True
        if kind in self._kinds:
            self._kinds.remove(kind)
            return True
        other = next((one for one, _ in self.to_come() if self._shapes[one] == kind), None)
        if other is not None:
            self._numbers[other] -= 1
        return other is not None

    def to_come(self) -> tuple[tuple[str, int], ...]:
        """Return how many places for pods to come are left, by workload: where they still are like that."""
        numbers = self._numbers.items()
        return tuple((one, number) for one, number in numbers if number and self._shapes[one] is not None)


def _kind(pod: Pod) -> _Kind:
    return pod.namespace, pod.spec


def _shape(model: ClusterModel, claim: NodeClaim, owner: str) -> _Kind | None:
    """Return what the pods to come ask for that a claim was made for, None where later ones ask for more."""
    then, now = model.expected.like(owner, claim.created_at), model.expected.like(owner)
    return _kind(now) if then is not None and now is not None and then.spec == now.spec else None


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
        (_kind(pod) for pod in gone if pod.bound),
        {owner: (_shape(model, claim, owner), number) for owner, number in numbers},
    )
    for promise in model.promises.at(view.name):
        if promise.pod not in own:
            places.take(_kind(promise.like), promise.like.owner.uid if promise.like.owner is not None else "")
    return places
