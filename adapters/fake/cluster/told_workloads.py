"""Workloads as clients are told of them: how many pods each wants, and what holds them back."""

from __future__ import annotations

from treenail.adapters.api.workloads import ApiObject, ReplicaSet, StatefulSet
from treenail.domain.cluster.workloads import Workload, asks_for_pods_only


def told(thing: ApiObject | None, *, deleting: bool) -> ApiObject | None:
    """Return what clients are told of an object: None of a workload that wants no pods."""
    match thing:
        case ReplicaSet(replicas=0) | StatefulSet(replicas=0):
            return None
        case ReplicaSet():
            held = f"its pods cannot be made: {thing.failure}" if thing.failure else ""
            return Workload(
                uid=thing.uid,
                kind="ReplicaSet",
                name=thing.name,
                namespace=thing.namespace,
                resource_version=thing.resource_version,
                wanted=thing.replicas,
                held="deleted" if deleting else held,
                part_of=next((f"{o.kind}/{o.name}" for o in thing.owners if o.controller), ""),
                for_pods_only=asks_for_pods_only(thing.annotations),
            )
        case StatefulSet():
            unseen = "" if thing.revision else "its controller has not seen its last change"
            return Workload(
                uid=thing.uid,
                kind="StatefulSet",
                name=thing.name,
                namespace=thing.namespace,
                resource_version=thing.resource_version,
                wanted=thing.replicas,
                held="deleted" if deleting else unseen,
                revision=thing.revision,
                in_turn=not thing.parallel,
                for_pods_only=asks_for_pods_only(thing.annotations),
            )
        case _:
            return thing
