"""Patches, applied to claims and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from treenail.domain.model.errors import InvalidError
from treenail.domain.model.nodes import Condition, Node, NodeClaim, condition_of
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Owner
from treenail.domain.model.taints import Taint


def patched_claim(claim: NodeClaim, patch: ClaimPatch, now: datetime) -> NodeClaim:
    """Return `claim` as `patch` would have it.

    Raises:
        InvalidError: it would change the provider id, or hold what is deleting by a new finalizer.
    """
    if patch.provider_id is not None and claim.provider_id not in ("", patch.provider_id):
        raise InvalidError(f"NodeClaim {claim.name}: its provider id is {claim.provider_id} for ever")
    return replace(
        claim,
        annotations=_merged(claim.annotations, patch.annotations),
        labels=_without(_merged(claim.labels, patch.labels), patch.remove_labels),
        provider_id=_chosen(patch.provider_id, claim.provider_id),
        node_name=_chosen(patch.node_name, claim.node_name),
        image_id=_chosen(patch.image_id, claim.image_id),
        capacity=claim.capacity if patch.capacity is None else patch.capacity,
        allocatable=claim.allocatable if patch.allocatable is None else patch.allocatable,
        conditions=tuple(
            one
            for one in with_conditions(claim.conditions, patch.conditions, now)
            if one.type not in patch.remove_conditions
        ),
        finalizers=_finalizers(claim, patch),
        last_pod_event_at=_to_the_second(patch.last_pod_event_at) or claim.last_pod_event_at,
    )


def patched_node(node: Node, patch: NodePatch) -> Node:
    """Return `node` as `patch` would have it.

    Raises:
        InvalidError: it would hold what is deleting by a new finalizer.
    """
    taints = tuple(t for t in node.taints if t not in patch.remove_taints)
    added = tuple(t for t in patch.add_taints if t not in taints)
    owners = node.owners
    if patch.owner is not None:
        ref = patch.owner
        owner = Owner(ref.kind, ref.name, ref.uid, controller=False, block_deletion=True)
        owners = (*(o for o in node.owners if o.uid != owner.uid), owner)
    return replace(
        node,
        labels=_without(_merged(node.labels, patch.labels), patch.remove_labels),
        annotations=_without(_merged(node.annotations, patch.annotations), patch.remove_annotations),
        taints=_one_of_each(taints, added),
        unschedulable=node.unschedulable if patch.unschedulable is None else patch.unschedulable,
        owners=owners,
        finalizers=_finalizers(node, patch),
    )


def with_conditions(
    known: tuple[Condition, ...], news: Iterable[Condition], now: datetime
) -> tuple[Condition, ...]:
    """Return `known` with those of `news` in their places; the time is that of the last change of status."""
    conditions = list(known)
    for new in news:
        before = condition_of(tuple(conditions), new.type)
        changed = before is None or before.status is not new.status
        dated = replace(new, since=now if changed else before.since if before else now)
        if before is None:
            conditions.append(dated)
        else:
            conditions[conditions.index(before)] = dated
    return tuple(conditions)


def _to_the_second(at: datetime | None) -> datetime | None:
    return at if at is None else at.replace(microsecond=0)


def _chosen(new: str | None, old: str) -> str:
    return old if new is None else new


def _without(labels: Mapping[str, str], keys: tuple[str, ...]) -> Mapping[str, str]:
    return {key: value for key, value in labels.items() if key not in keys} if keys else labels


def _merged(known: Mapping[str, str], new: Mapping[str, str]) -> Mapping[str, str]:
    return {**known, **new} if new else known


def _one_of_each(taints: tuple[Taint, ...], added: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """A node has one taint per key and effect; the one that comes last holds."""
    replaced = {(t.key, t.effect) for t in added}
    return (*(t for t in taints if (t.key, t.effect) not in replaced), *added)


def _finalizers(thing: NodeClaim | Node, patch: ClaimPatch | NodePatch) -> tuple[str, ...]:
    kept = tuple(f for f in thing.finalizers if f not in patch.remove_finalizers)
    added = tuple(f for f in patch.add_finalizers if f not in kept)
    if added and thing.deleting_since is not None:
        raise InvalidError(f"{thing.name} is deleting: no finalizer may be added")
    return (*kept, *added)
