"""Proposals: changes that may help against each reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.resources import amount_of
from treenail.domain.model.taints import Taint
from treenail.domain.packing.advice import pod_steps, pool_steps
from treenail.domain.packing.advice.case import Case
from treenail.domain.packing.advice.label_demands import corrected, demands, dropped
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.refusal_reasons import Reason

# Taints that say what state a node is in: to put up with them helps nobody.
_STATES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/")
_DROP: Final = 3.0
# A part that the reason does not name may still be the wrong one; changing it is proposed later.
_DROP_ANOTHER: Final = 3.5
_AS_THE_VOLUME: Final = 2.0


def proposals(case: Case) -> tuple[Step, ...]:
    """Return the changes that may help, in a fixed order; limits are raised elsewhere: that takes packing."""
    # A table, not a search: a reason names the first predicate that failed, so the changes that answer it are
    # known. Packing says if they help; further changes are proposed from its refusals.
    propose = _BY_REASON.get(case.refusal.reason)
    return tuple(propose(case)) if propose is not None else ()


# --- taints and labels


def _taint(case: Case) -> Iterable[Step]:
    for taint in case.taints:
        if str(taint) == case.values.about and not _is_state(taint):
            # The pod first: a toleration is what a taint asks for. Off the pool it goes only as a last
            # resort, for it keeps all other pods off as well.
            yield pod_steps.tolerate(taint)
            if case.pool is not None:
                yield pool_steps.remove_taint(case.pool, taint)


def _is_state(taint: Taint) -> bool:
    return taint.key.startswith(_STATES)


def _undefined(case: Case) -> Iterable[Step]:
    for demand in demands(case.spec):
        if demand.key != case.values.about:
            continue
        # A slip in the key explains why no node has it. Two other readings remain: the pod asks for too much,
        # or the pool should bear the label.
        if case.values.nearest:
            yield corrected(demand, key=case.values.nearest)
        yield from dropped(case.spec, demand, size=_DROP)
        values = demand.expression.values
        # Well-known labels come from the cloud: a pool cannot give its nodes another zone by naming it.
        if case.pool is not None and len(values) == 1 and demand.key not in labels.WELL_KNOWN:
            yield pool_steps.add_label(case.pool, demand.key, values[0])


def _incompatible(case: Case) -> Iterable[Step]:
    yield from _corrections(case)
    yield from _drops(case)
    for demand in demands(case.spec):
        if case.pool is not None and demand.key == case.values.about:
            for value in demand.expression.values[:1]:
                yield from pool_steps.add_value(case.pool, demand.key, value)


def _no_type(case: Case) -> Iterable[Step]:
    yield from _corrections(case)
    yield from _drops(case)
    # The conjunction leaves no type: any other part of it may be the wrong one.
    yield from _drops_of_others(case)
    yield from _drops_of_pool(case)


def _corrections(case: Case) -> Iterable[Step]:
    for demand in demands(case.spec):
        if demand.key == case.values.about and case.values.nearest and demand.expression.values:
            yield corrected(demand, value=case.values.nearest)


def _drops(case: Case) -> Iterable[Step]:
    """Yield what drops a demand on the label the reason names; on each, where it names none."""
    for demand in demands(case.spec):
        if demand.key == case.values.about or not case.values.about:
            yield from dropped(case.spec, demand, size=_DROP)


def _drops_of_others(case: Case) -> Iterable[Step]:
    for demand in demands(case.spec):
        if demand.key != case.values.about:
            yield from dropped(case.spec, demand, size=_DROP_ANOTHER)


def _drops_of_pool(case: Case) -> Iterable[Step]:
    if case.pool is not None:
        for key in sorted(case.pool.requirements):
            yield from pool_steps.drop_requirement(case.pool, key)


# --- amounts


def _unknown_resource(case: Case) -> Iterable[Step]:
    about, near = case.values.about, case.values.nearest
    if about in case.spec.requests:
        # An extended resource with a slip in its name has no type at all; one that is right and not sold here
        # has no neighbour by name.
        if near:
            yield pod_steps.rename(case.spec, about, near)
        yield pod_steps.ask_nothing_of(case.spec, about)


def _too_large(case: Case) -> Iterable[Step]:
    for offered in case.values.offered:
        # Lowered to what the nearest type, or node, leaves: the smallest change with which the pod fits
        # there.
        to = amount_of(case.values.about, offered)
        yield from pod_steps.lower(case.spec, case.values.about, to)
    if case.pool is not None:
        # Larger types may be there and be ruled out, by the pod or by the pool.
        yield from _drops_of_others(case)
        yield from _drops_of_pool(case)


def _min_values(case: Case) -> Iterable[Step]:
    if case.pool is not None and case.values.offered:
        to = int(case.values.offered[0])
        yield from pool_steps.lower_min_values(case.pool, case.values.about, to)
    yield from _drops_of_others(case)


def _no_capacity(case: Case) -> Iterable[Step]:
    yield from _drops_of_others(case)
    if case.offer is None:
        return
    # What ran out comes back by itself in time; what is sold elsewhere can be had now.
    sold = [o for one in case.offer.instance_types for o in one.offerings if o.available]
    for key, values in (
        (labels.CAPACITY_TYPE, {o.capacity_type for o in sold}),
        (labels.ZONE, {o.zone for o in sold}),
    ):
        for value in sorted(values):
            yield from pool_steps.add_value(case.offer.pool, key, value)
    yield from _drops_of_pool(case)


# --- ports, volumes, claims, and other pods


def _port(case: Case) -> Iterable[Step]:
    taken = {
        p.port
        for existing_node in case.problem.existing_nodes
        for r, _ in existing_node.residents
        for p in r.host_ports
    }
    # Ports of daemons are taken on nodes that are not there yet. Of residents any node counts: where the pod
    # will go is not known.
    taken |= {p.port for spec in (*case.problem.daemons, case.spec) for p in spec.host_ports}
    for port in case.spec.host_ports:
        if case.values.about == f"{port.port}/{port.protocol}":
            yield pod_steps.change_port(port, taken)


def _volume_topology(case: Case) -> Iterable[Step]:
    near = case.values.nearest
    for demand in demands(case.spec):
        if demand.key == case.values.about and demand.expression.values and near:
            # Volumes and devices are where they are. A pod that asks for another zone than theirs can never
            # start there.
            yield corrected(demand, value=near, size=_AS_THE_VOLUME)
    yield from _drops(case)
    if case.pool is not None and near:
        yield from pool_steps.add_value(case.pool, case.values.about, near)


def _resource_claim(case: Case) -> Iterable[Step]:
    return (pod_steps.drop_resource_claim(claim.name) for claim in case.spec.resource_claims)


def _spread(case: Case) -> Iterable[Step]:
    for spread in case.spec.spread:
        if spread.hard and spread.topology_key == case.values.about:
            # By one, not to what the counts call for: other pods of the class raise them again, and then it
            # is proposed again on top.
            yield pod_steps.raise_max_skew(spread, spread.max_skew + 1)
            yield pod_steps.schedule_anyway(spread)


def _affinity(case: Case) -> Iterable[Step]:
    elsewhere = case.refusal.reason is Reason.POD_AFFINITY_NAMESPACE and case.values.nearest
    for term in case.spec.pod_affinity:
        if term.weight is None and term.topology_key == case.values.about:
            # Only affinity can fail for want of pods; anti-affinity that looks into more namespaces keeps
            # apart from more of them.
            if elsewhere and not term.anti:
                own = case.problem.pods[0].namespace
                yield pod_steps.add_namespace(term, case.values.nearest, own)
            yield pod_steps.drop_affinity(term)


_Propose: TypeAlias = Callable[[Case], Iterable[Step]]
_BY_REASON: Final[Mapping[Reason, _Propose]] = {
    Reason.RESOURCE_CLAIM: _resource_claim,
    Reason.CONTRADICTORY_REQUIREMENTS: _drops,
    Reason.UNTOLERATED_TAINT: _taint,
    Reason.HOSTNAME_REQUIRED: _drops,
    Reason.UNDEFINED_LABEL: _undefined,
    Reason.INCOMPATIBLE_REQUIREMENT: _incompatible,
    Reason.OPERATING_SYSTEM_MISMATCH: _incompatible,
    Reason.ARCHITECTURE_MISMATCH: _incompatible,
    Reason.WINDOWS_BUILD_MISMATCH: _incompatible,
    Reason.VOLUME_TOPOLOGY: _volume_topology,
    Reason.DEVICE_TOPOLOGY: _volume_topology,
    Reason.NO_INSTANCE_TYPE_MATCHES: _no_type,
    Reason.UNKNOWN_RESOURCE: _unknown_resource,
    Reason.NODE_FULL: _too_large,
    Reason.TOO_LARGE: _too_large,
    Reason.HOST_PORT_TAKEN: _port,
    Reason.POD_AFFINITY_NAMESPACE: _affinity,
    Reason.POD_AFFINITY: _affinity,
    Reason.POD_ANTI_AFFINITY: _affinity,
    Reason.TOPOLOGY_SPREAD: _spread,
    Reason.MIN_VALUES: _min_values,
    Reason.NOT_SOLD: _no_capacity,
    Reason.NO_CAPACITY: _no_capacity,
}
