"""CPU time to take in that a pod was bound, by how many pods its node has."""

from __future__ import annotations

import time
from datetime import timedelta

from tests.builders import START, bound_pod, claim, node, pending_pod, resources
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.cluster.promises import Promise

ROUNDS = 3


def seconds_a_pod(number: int) -> float:
    """Return the CPU seconds for each of so many pods that are bound to the one node they have places on."""
    model = ClusterModel(promise_lasts=timedelta(minutes=10))
    room = resources(cpu=number, pods=number)
    model.learn(ObjectSeen(object=claim("c1", provider_id="p1", initialized=True, room=room)), START)
    model.learn(ObjectSeen(object=node("n1", provider_id="p1", room=room)), START)
    for n in range(number):
        waits = pending_pod(f"pod-{n}")
        model.learn(ObjectSeen(object=waits), START)
        model.keep(Promise(like=waits, target="c1", decision="d1"))
    began = time.thread_time()
    for n in range(number):
        model.learn(ObjectSeen(object=bound_pod(f"pod-{n}", "n1", version=2)), START)
        model.take_changes()
    took = time.thread_time() - began
    assert len(model.objects.pods_on("c1")) == number
    assert not model.promises.any_at("c1")
    return took / number


def test_a_pod_that_is_bound_costs_about_as_much_on_a_node_of_800_as_on_one_of_100() -> None:
    few, many = (min(seconds_a_pod(number) for _ in range(ROUNDS)) for number in (100, 800))
    assert many < 2 * few
