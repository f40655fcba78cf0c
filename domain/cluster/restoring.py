"""Restored promises: at a start, those for pods that the last process was moving."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.claims import DECISION, expected_pods, promised_pods
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import Pod


def restore_moving(model: ClusterModel, *, lasts_until: datetime) -> None:
    """Promise pods anew the places that were made for them while they ran elsewhere.

    Else these would be taken for empty, and bought once more when it is decided again that the pods move. On
    nodes that are ready promises last until then, on others for a while after they are.
    """
    for claim in sorted(model.objects.claims.values(), key=lambda c: c.name):
        view = model.objects.view(claim.name)
        if view is None or model.marks.going(view):
            continue
        # A claim in use was made long ago, for pods that stayed where they were, unless they still leave.
        over = claim.initialized and used(model, claim)
        for uid in promised_pods(claim):
            pod = model.objects.pods.get(uid)
            if pod is None or not _moves(model, pod, claim):
                continue
            leaves = model.marks.leaves(pod)
            if leaves or not over:
                model.keep(_promise(pod, claim, None if leaves else lasts_until))


def restore_expected(model: ClusterModel, now: datetime, *, lasts_until: datetime) -> None:
    """Promise places anew on claims that were made for pods still to come: to those that came, and the rest.

    Else such a claim would be taken for empty, and bought once more. To those that came promises on nodes
    that are ready last until then.
    """
    for claim in sorted(model.objects.claims.values(), key=lambda c: c.name):
        view = model.objects.view(claim.name)
        if view is None or view.holder or model.marks.going(view):
            continue
        for owner, number in sorted(expected_pods(claim).items()):
            there = sum(
                p.owner is not None and p.owner.uid == owner for p in model.objects.pods_on(claim.name)
            )
            places = max(0, number - there)
            came = model.expected.without_place(owner)[:places]
            to_come = min(places - len(came), model.unpromised(owner, now))
            for pod in (*came, *model.made_up(owner, to_come, now)):
                if not _fits(model, pod, claim):
                    break  # others took the room
                model.keep(
                    Promise(
                        like=pod,
                        target=claim.name,
                        decision=claim.annotations.get(DECISION, ""),
                        heir=owner if pod not in came else "",
                        expected=pod not in came,
                        expires_at=lasts_until if claim.initialized and pod in came else None,
                    )
                )


def used(model: ClusterModel, claim: NodeClaim) -> bool:
    """Return whether pods came to the node of a claim, whatever it costs to evict them."""
    return any(not pod.belongs for pod in model.objects.pods_on(claim.name))


def _moves(model: ClusterModel, pod: Pod, claim: NodeClaim) -> bool:
    """Return whether a pod runs on another node, and did so when the claim was made for it.

    One that waited then was bound elsewhere since, and needs the place no more. Others may have taken it.
    """
    elsewhere = pod.bound and model.objects.view_name(pod.node_name) != claim.name
    before = pod.started_at is not None and pod.started_at <= claim.created_at
    if not (elsewhere and before and pod.reschedulable) or model.promises.of(pod.uid) is not None:
        return False
    return _fits(model, pod, claim)


def _fits(model: ClusterModel, pod: Pod, claim: NodeClaim) -> bool:
    """Return whether a claim has room for a pod, as far as is known what it will be."""
    existing_node = model.capacity.existing_node(claim.name, beside_buffers=True)
    return not claim.launched or (existing_node is not None and pod.spec.requests.fits(existing_node.free))


def _promise(pod: Pod, claim: NodeClaim, lasts_until: datetime | None) -> Promise:
    owner = pod.owner
    return Promise(
        like=pod,
        target=claim.name,
        decision=claim.annotations.get(DECISION, ""),
        heir=owner.uid if owner is not None else "",
        expires_at=lasts_until if claim.initialized else None,
    )
