"""A model of a cluster, and short ways to tell it things and to ask it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import (
    START,
    at,
    bound_pod,
    claim_of,
    node_class,
    node_of,
    node_pool,
    resources,
    spec,
    view,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, DaemonSet, Kind, ObjectGone, ObjectSeen
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.pods import Owner, Pod

LASTS = timedelta(seconds=20)
ROOM = resources(cpu=4, pods=10)
LOGS = DaemonSet(uid="logs", name="logs", resource_version=1, spec=spec())
IN_USE = (claim_of(view()), node_of(view()))


def model(*things: ClusterObject) -> ClusterModel:
    made = ClusterModel(promise_lasts=LASTS)
    for thing in (node_pool(), node_class(), *things):
        made.learn(ObjectSeen(object=thing), START)
    made.take_changes()
    return made


def see(known: ClusterModel, *things: ClusterObject, seconds: float = 0) -> None:
    for thing in things:
        known.learn(ObjectSeen(object=thing), at(seconds))


def lose(known: ClusterModel, kind: Kind, key: str) -> None:
    known.learn(ObjectGone(kind=kind, key=key), START)


def promise(known: ClusterModel, pod: str, target: str) -> None:
    known.keep(Promise(like=known.objects.pods[pod], target=target, decision="d1"))


def to_place(known: ClusterModel, seconds: float = 0) -> list[str]:
    return [p.uid for p in known.snapshot(at(seconds)).pods]


def existing_nodes(known: ClusterModel) -> dict[str, int]:
    """Return the free thousandths of a core in each room that takes pods, in the order they are filled."""
    return {r.name: r.free["cpu"] for r in known.snapshot(START).existing_nodes if r.open}


def daemon(uid: str, node_name: str) -> Pod:
    owner = Owner(kind="DaemonSet", name="logs", uid="logs")
    return replace(bound_pod(uid, node_name), owners=(owner,))
