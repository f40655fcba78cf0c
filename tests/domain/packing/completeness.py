"""Is there a place left for a pod that a plan refuses? Tried on every node, and on every new one."""

from __future__ import annotations

from collections.abc import Iterator

from tests.domain.packing.neighbours import Neighbours
from tests.domain.packing.nodes_of_plans import PlannedNode, asks_for, nodes_of, possible_nodes, tolerates
from tests.domain.packing.validity import (
    accepts_in_room,
    attachable,
    clear_of_daemons,
    daemon_load,
    needs_of,
    reachable,
)
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import total
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PoolOffer, Problem


def missed(problem: Problem, plan: PackingPlan) -> list[str]:
    """Return which refused pods could be put where, all others staying where the plan has them."""
    pods = {pod.uid: pod for pod in problem.pods}
    nodes = nodes_of(problem, plan)
    neighbours = Neighbours(problem, nodes)
    found = []
    for refused in plan.refused:
        pod = pods[refused.pods[0]]
        places = (*_existing_nodes(problem, pod, nodes), *_new_nodes(problem, pod))
        place = next((p for p in places if neighbours.welcome(pod, p)), None)
        if place is not None:
            found.append(f"{pod.uid} could be on {place.name}: {place.may_be[0]}")
    return found


def _existing_nodes(problem: Problem, pod: Pod, nodes: list[PlannedNode]) -> Iterator[PlannedNode]:
    for node in nodes:
        existing_node = node.existing_node
        if (
            existing_node is None
            or not accepts_in_room(existing_node, pod.spec)
            or not reachable(problem, pod, existing_node.labels)
        ):
            continue
        load = total(one.spec.requests for one in (*node.pods, pod))
        volumes = [needs_of(problem, one) for one in (*node.pods, pod)]
        if (
            min(existing_node.free.values(), default=0) >= 0
            and load.fits(existing_node.free)
            and attachable(existing_node, volumes)
        ):
            yield node


def _new_nodes(problem: Problem, pod: Pod) -> Iterator[PlannedNode]:
    for offer in problem.offers:
        if offer.limits_left is None and tolerates(offer.pool.taints, pod.spec):
            yield from _of_pool(problem, pod, offer)


def _of_pool(problem: Problem, pod: Pod, offer: PoolOffer) -> Iterator[PlannedNode]:
    for instance_type in offer.instance_types:
        load = pod.spec.requests.plus(daemon_load(problem, offer.pool, instance_type))
        ports = pod.spec.host_ports
        if not load.fits(instance_type.allocatable):
            continue
        if not clear_of_daemons(problem, offer.pool, instance_type, ports):
            continue
        for node in possible_nodes(offer.pool, instance_type, offer.pool.template_requirements()):
            if asks_for(pod.spec, node) and reachable(problem, pod, node):
                name = f"a new {instance_type.name} of {offer.pool.name}"
                yield PlannedNode(name, (node,), offer.pool.taints)
