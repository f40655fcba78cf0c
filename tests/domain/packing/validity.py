"""Is a plan valid? Decided from the problem alone, pod by pod and type by type, however it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.domain.packing.neighbours import Neighbours, conflict, sociable
from tests.domain.packing.nodes_of_plans import asks_for, nodes_of, possible_nodes, tolerates
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import HostPort, Pod, PodSpec
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import NOTHING, Resources, total
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import ExistingNode, PoolOffer, Problem, VolumeNeeds


def faults(problem: Problem, plan: PackingPlan) -> list[str]:
    """Return what is wrong with `plan`, in words; nothing if it is valid."""
    pods = {pod.uid: pod for pod in problem.pods}
    return [
        *(f"something failed: {met}" for met in plan.problems),
        *_accounting(problem, plan),
        *_existing_nodes(problem, plan, pods),
        *(fault for claim in plan.claims for fault in _claim(problem, claim, pods)),
        *_limits(problem, plan),
        *_money(plan),
        *Neighbours(problem, nodes_of(problem, plan)).faults(),
    ]


def _accounting(problem: Problem, plan: PackingPlan) -> Iterator[str]:
    seen = Counter(
        [
            *(uid for claim in plan.claims for uid in claim.pods),
            *plan.nominations,
            *(uid for refused in plan.refused for uid in refused.pods),
            *plan.deferred,
        ]
    )
    if seen != Counter(pod.uid for pod in problem.pods):
        yield f"not every pod is accounted for once: {seen}"
    names = [offer.pool.name for offer in problem.offers]
    for refused in plan.refused:
        against = [refusal.pool for refusal in refused.refusals]
        if not refused.pods or against not in ([""], names):
            yield f"{refused.pods} are refused by {against}"
    if bool(plan.deferred) != plan.exhausted or (plan.deferred and problem.settings.steps is None):
        yield f"{plan.deferred} are deferred"
    counted = sum(
        report.refused + sum(report.to_existing_nodes.values()) + sum(report.to_claims.values())
        for report in plan.classes
    )
    if counted + len(plan.deferred) != len(problem.pods):
        yield f"the reports count {counted} pods"


def _existing_nodes(problem: Problem, plan: PackingPlan, pods: Mapping[str, Pod]) -> Iterator[str]:
    for existing_node in problem.existing_nodes:
        inside = [pods[uid] for uid, name in plan.nominations.items() if name == existing_node.name]
        if inside and not total(pod.spec.requests for pod in inside).fits(existing_node.free):
            yield f"{existing_node.name} is overfull"
        if not attachable(existing_node, [needs_of(problem, pod) for pod in inside]):
            yield f"{existing_node.name} cannot attach all volumes"
        for pod in inside:
            if not accepts_in_room(existing_node, pod.spec) or not reachable(
                problem, pod, existing_node.labels
            ):
                yield f"{pod.uid} may not run in {existing_node.name}"


def accepts_in_room(existing_node: ExistingNode, spec: PodSpec) -> bool:
    """Return whether labels and taints of a room let the pod run there."""
    return (
        existing_node.open and tolerates(existing_node.taints, spec) and asks_for(spec, existing_node.labels)
    )


def needs_of(problem: Problem, pod: Pod) -> VolumeNeeds:
    """Return what a pod's volumes need; a pod with volumes nothing is known of can go nowhere."""
    if not pod.spec.volumes:
        return VolumeNeeds()
    return problem.volumes.get(pod.uid, VolumeNeeds(problem="nothing is known"))


def reachable(problem: Problem, pod: Pod, node: Mapping[str, str]) -> bool:
    """Return whether a node with these labels reaches the pod's volumes."""
    needs = needs_of(problem, pod)
    here = Requirements.from_labels(node)
    return not needs.problem and any(here.compatible(alternative) for alternative in needs.alternatives)


def attachable(existing_node: ExistingNode, needs: Sequence[VolumeNeeds]) -> bool:
    """Return whether all these volumes can be attached to a node, those that several share once."""
    known = {volume for one in needs for volume in one.known} - existing_node.attached
    new = Counter(driver for driver, _ in known)
    for one in needs:
        new.update(dict(one.fresh))
    return all(count <= existing_node.attachable.get(driver, count) for driver, count in new.items())


def _claim(problem: Problem, claim: PlannedClaim, pods: Mapping[str, Pod]) -> Iterator[str]:
    offer = next((o for o in problem.offers if o.pool.name == claim.pool), None)
    if offer is None or not claim.pods:
        yield f"a claim of {claim.pool} holds {claim.pods}"
        return
    specs = list(dict.fromkeys(pods[uid].spec for uid in claim.pods))
    ports = [port for uid in claim.pods for port in pods[uid].spec.host_ports]
    load = total(pods[uid].spec.requests for uid in claim.pods)
    known = {t.name: t for t in offer.instance_types}
    types = [known[name] for name in claim.instance_types]
    for spec in specs:
        if not tolerates(offer.pool.taints, spec) or spec.resource_claims:
            yield f"{claim.pods} may not run on nodes of {claim.pool}"
    for instance_type in types:
        yield from _type(problem, offer.pool, claim, instance_type, specs, load)
        if not clear_of_daemons(problem, offer.pool, instance_type, ports):
            yield f"daemons take a port of {claim.pods} on {instance_type.name}"
        for node in possible_nodes(offer.pool, instance_type, claim.requirements):
            if not all(reachable(problem, pods[uid], node) for uid in claim.pods):
                yield f"{instance_type.name} may come up as {node}, out of reach of volumes of {claim.pods}"
    prices = [price_of(t, claim.requirements) for t in types]
    if prices != sorted(prices) or claim.price != prices[0]:
        yield f"the types are not in order of price: {prices}"
    biggest = NOTHING
    for instance_type in types:
        biggest = biggest.largest(instance_type.capacity)
    if claim.largest != biggest:
        yield f"the largest type is not {claim.largest}"
    loads = [daemon_load(problem, offer.pool, t) for t in types]
    least = Resources({n: min(load.get(n, 0) for load in loads) for n in {n for load in loads for n in load}})
    requested = load.plus(least)
    if {n: a for n, a in claim.requests.items() if a} != {n: a for n, a in requested.items() if a}:
        yield f"requests are {claim.requests}, not {requested}"
    if not _opened_by_rank(problem, offer, specs):
        yield f"{claim.pods} had no reason to open a node of {claim.pool}"


def _type(
    problem: Problem,
    pool: NodePool,
    claim: PlannedClaim,
    instance_type: InstanceType,
    specs: list[PodSpec],
    load: Resources,
) -> Iterator[str]:
    if not load.plus(daemon_load(problem, pool, instance_type)).fits(instance_type.allocatable):
        yield f"{instance_type.name} does not hold {load}"
    nodes = list(possible_nodes(pool, instance_type, claim.requirements))
    if not nodes:
        yield f"{instance_type.name} is not for sale as {claim.requirements}"
    for node in nodes:
        for spec in specs:
            if not asks_for(spec, node):
                yield f"{instance_type.name} may come up as {node}, where {spec} may not run"


def price_of(instance_type: InstanceType, requirements: Requirements) -> float:
    offering = instance_type.cheapest(requirements)
    return offering.price if offering is not None else float("inf")


def daemon_load(problem: Problem, pool: NodePool, instance_type: InstanceType) -> Resources:
    """Return what the daemons request that would run on a node of this type."""
    return total(daemon.requests for daemon in daemons_on(problem, pool, instance_type))


def daemons_on(problem: Problem, pool: NodePool, instance_type: InstanceType) -> list[PodSpec]:
    """Return the daemons that would run on a node of this type."""
    template = pool.template_requirements()
    return [
        daemon
        for daemon in problem.daemons
        if tolerates(pool.taints, daemon)
        and any(
            template.compatible(alternative, may_be_undefined=LEFT_OPEN)
            and instance_type.requirements.intersects(alternative)
            for alternative in daemon.alternatives()
        )
    ]


def clear_of_daemons(
    problem: Problem, pool: NodePool, instance_type: InstanceType, ports: Sequence[HostPort]
) -> bool:
    """Return whether no daemon on a node of this type takes one of these ports."""
    taken = [port for daemon in daemons_on(problem, pool, instance_type) for port in daemon.host_ports]
    return not any(conflict(mine, theirs) for mine in ports for theirs in taken)


def could_host(problem: Problem, offer: PoolOffer, spec: PodSpec) -> bool:
    """Return whether a node of the pool, alone and with no limit, could hold the pod, wishes left aside."""
    if not tolerates(offer.pool.taints, spec):
        return False
    for instance_type in offer.instance_types:
        load = spec.requests.plus(daemon_load(problem, offer.pool, instance_type))
        nodes = possible_nodes(offer.pool, instance_type, offer.pool.template_requirements())
        if load.fits(instance_type.allocatable) and any(asks_for(spec, node) for node in nodes):
            return True
    return False


def _opened_by_rank(problem: Problem, offer: PoolOffer, specs: list[PodSpec]) -> bool:
    """Return whether some pod of a claim could not have a node of any pool before this one."""
    before = problem.offers[: problem.offers.index(offer)]
    unlimited = [o for o in before if o.limits_left is None]
    return sociable(problem) or any(
        has_choice(problem, spec) or not any(could_host(problem, o, spec) for o in unlimited)
        for spec in specs
    )


def has_choice(problem: Problem, spec: PodSpec) -> bool:
    """Return whether something but the pools' order decides too: wishes, terms in order, a disliked taint."""
    taints = [t for o in problem.offers for t in o.pool.taints]
    affinity = spec.node_affinity
    ordered = len(affinity.required) > 1 or bool(affinity.preferred)
    return ordered or untolerated(taints, spec.tolerations) is not None


def _limits(problem: Problem, plan: PackingPlan) -> Iterator[str]:
    for offer in problem.offers:
        claims = [claim for claim in plan.claims if claim.pool == offer.pool.name]
        used = total([claim.largest for claim in claims]).plus({"nodes": len(claims)})
        for name, left in (offer.limits_left or NOTHING).items():
            if claims and used.get(name, 0) > left:
                yield f"{offer.pool.name} has {left} of {name} left, and {used.get(name, 0)} are used"


def _money(plan: PackingPlan) -> Iterator[str]:
    cost = sum(claim.price for claim in plan.claims)
    if abs(plan.cost - cost) > 1e-9:
        yield f"the cost is {cost}, not {plan.cost}"
    if plan.lower_bound > plan.cost:
        yield f"the cost {plan.cost} is below its bound {plan.lower_bound}"
    if plan.whole_lower_bound > plan.whole_cost:
        yield f"the whole cost {plan.whole_cost} is below its bound {plan.whole_lower_bound}"
    if plan.whole_cost < plan.cost or plan.whole_lower_bound < plan.lower_bound * (1 - 1e-9):
        yield "what nodes cost in all is less than their prices"
