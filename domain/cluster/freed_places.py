"""Freed places on claims in flight, promised to waiting pods that are equal to those that left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
        if not places:
            continue
        waiting = (pod for pod in model.objects.pods.values() if model.waiting(pod.uid))
        for pod in sorted(waiting, key=lambda p: (p.created_at, p.uid)):
            if pod.spec in places:
                places.remove(pod.spec)
                decision = view.claim.annotations.get(DECISION, "") if view.claim is not None else ""
                model.keep(Promise(like=pod, target=view.name, decision=decision))
        _promise_to_come(model, view, now)


def _promise_to_come(model: ClusterModel, view: NodeView, now: datetime) -> None:
    decision = view.claim.annotations.get(DECISION, "") if view.claim is not None else ""
    for owner, places in _left_to_come(model, view).items():
        to_come = min(places, model.expected.unpromised(owner, now))
        for pod in model.expected.made_up(owner, to_come, now):
            model.keep(Promise(like=pod, target=view.name, decision=decision, heir=owner, expected=True))


def _left_to_come(model: ClusterModel, view: NodeView) -> dict[str, int]:
    """Return how many of the places that a claim was made with for pods to come nobody has, by owner."""
    if view.claim is None or view.claim.launched or model.marks.going(view):
        return {}
    own = promised_pods(view.claim)
    others = (p.like.owner for p in model.promises.at(view.name) if p.pod not in own)
    taken = Counter(owner.uid for owner in others if owner is not None)
    places = expected_pods(view.claim)
    return {
        owner: left
        for owner, number in sorted(places.items())
        if (left := number - taken[owner]) > 0 and _shape(model, view.claim, owner) is not None
    }


def _shape(model: ClusterModel, claim: NodeClaim, owner: str) -> PodSpec | None:
    """Return what the pods to come ask for that a claim was made for, None where later ones ask for more."""
    then, now = model.expected.like(owner, claim.created_at), model.expected.like(owner)
    return now.spec if then is not None and now is not None and then.spec == now.spec else None


def _left(model: ClusterModel, view: NodeView) -> list[PodSpec]:
    """Return the places on a claim whose pods are bound elsewhere by now, less those given away again.

    Pods that still run on a node that goes are bound too, and have not left theirs: they keep their promise.
    """
    if view.claim is None or view.claim.launched or model.marks.going(view):
        return []
    own = promised_pods(view.claim)
    promised = {promise.pod for promise in model.promises.at(view.name)}
    gone = (uid for uid in own if uid not in promised)
    left = [pod.spec for uid in gone if (pod := model.objects.pods.get(uid)) is not None and pod.bound]
    for promise in model.promises.at(view.name):
        if promise.pod not in own and promise.spec in left:
            left.remove(promise.spec)
    for owner, number in _left_to_come(model, view).items():
        shape = _shape(model, view.claim, owner)
        left += [shape] * number if shape is not None else []
    return left
