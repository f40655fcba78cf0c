"""Freed places on claims in flight, promised to waiting pods that are equal to those that left."""

from __future__ import annotations

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.claims import DECISION, promised_pods
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import PodSpec


def promise_freed_places(model: ClusterModel) -> None:
    """Promise pods that wait the places that alike ones left on claims that are not launched yet.

    To the scheduler alike pods are one as good as another: it gives the first node that comes to any of
    them. What such a claim is to be is not known but for its own pods: no others could be planned onto it.
    """
    for view in model.objects.views():
        places = _left(model, view)
        if not places:
            continue
        waiting = (pod for pod in model.objects.pods.values() if model.waiting(pod.uid))
        for pod in sorted(waiting, key=lambda p: (p.created_at, p.uid)):
            if pod.spec in places:
                places.remove(pod.spec)
                decision = view.claim.annotations.get(DECISION, "") if view.claim is not None else ""
                model.keep(Promise(like=pod, target=view.name, decision=decision))


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
    return left
