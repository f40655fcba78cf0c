"""Pods that have something to do with each other, in a few words, and where a plan puts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from tests.domain.packing.nodes_of_plans import nodes_of
from tests.domain.packing.problems import asking, existing_node, instance_type, offer, pods, pool
from tests.domain.packing.validity import faults
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import HostPort, LabelSelector, Pod, PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Requirement
from treenail.domain.model.taints import Taint
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, PoolOffer, Problem, Resident

A, B, C = "zone-a", "zone-b", "zone-c"


def of_app(name: str) -> LabelSelector:
    return LabelSelector((("app", name),))


WEB, DB = of_app("web"), of_app("db")
ANYBODY = LabelSelector()


def app(
    name: str,
    count: int,
    spec: PodSpec | None = None,
    *,
    pod_group: str = "",
    namespace: str = "default",
    **own: str,
) -> tuple[Pod, ...]:
    """`count` pods of an app; `pod_group` tells them from others of that app, `own` are more labels."""
    some = pods(pod_group or name, count, spec)
    return tuple(replace(pod, labels={"app": name, **own}, namespace=namespace) for pod in some)


def spread(
    key: str = labels.ZONE,
    skew: int = 1,
    selector: LabelSelector | None = WEB,
    *,
    hard: bool = True,
    min_domains: int | None = None,
    honor_affinity: bool = True,
    honor_taints: bool = False,
    keys: tuple[str, ...] = (),
) -> TopologySpread:
    return TopologySpread(
        key,
        skew,
        hard=hard,
        selector=selector,
        min_domains=min_domains,
        honor_node_affinity=honor_affinity,
        honor_node_taints=honor_taints,
        match_label_keys=keys,
    )


def _affinity(
    selector: LabelSelector | None = WEB,
    key: str = labels.ZONE,
    weight: int | None = None,
    *,
    anti: bool,
    namespaces: tuple[str, ...] = (),
    of_namespaces: LabelSelector | None = None,
) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, namespaces, of_namespaces, anti=anti, weight=weight)


near = partial(_affinity, anti=False)
apart = partial(_affinity, anti=True)


def with_terms(*terms: TopologySpread | PodAffinityTerm | HostPort, of: PodSpec | None = None) -> PodSpec:
    """Return a spec (`of`, or of one core) with these constraints."""
    return replace(
        of or asking(),
        spread=tuple(t for t in terms if isinstance(t, TopologySpread)),
        pod_affinity=tuple(t for t in terms if isinstance(t, PodAffinityTerm)),
        host_ports=tuple(t for t in terms if isinstance(t, HostPort)),
    )


def there(
    name: str,
    *terms: PodAffinityTerm,
    namespace: str = "default",
    leaving: bool = False,
    ports: tuple[HostPort, ...] = (),
    **own: str,
) -> Resident:
    """Return a pod of an app that has its place."""
    of = tuple(sorted({"app": name, **own}.items()))
    return Resident(namespace=namespace, labels=of, anti_affinity=terms, leaving=leaving, host_ports=ports)


def node(
    name: str,
    zone: str,
    *residents: Resident | tuple[Resident, int],
    cpu: int = 4,
    taints: tuple[Taint, ...] = (),
    more: Mapping[str, str] | None = None,
) -> ExistingNode:
    """Return a node in a zone, with so many cores free, and pods there: each one, or as many as it says."""
    own = {labels.ZONE: zone, labels.HOSTNAME: name, labels.ARCH: "amd64", **(more or {})}
    free: dict[str, str | int] = {"cpu": cpu, "memory": "16Gi", "pods": 20}
    counted = tuple(one if isinstance(one, tuple) else (one, 1) for one in residents)
    return replace(existing_node(name, free, node_labels=own, taints=taints), residents=counted)


def closed(of: ExistingNode) -> ExistingNode:
    """Return a node that takes no more pods."""
    return replace(of, open=False)


def types(zones: Iterable[str] = (A, B, C)) -> tuple[InstanceType, ...]:
    """Return a small, a middle and a large type, sold in these zones, and a small one of the other make."""
    of = tuple(zones)
    return (
        instance_type("m5.large", cpu=2, memory=8, price=0.1, zones=of),
        instance_type("m5.2xlarge", cpu=8, memory=32, price=0.4, zones=of),
        instance_type("m5.8xlarge", cpu=32, memory=128, price=1.6, zones=of),
        instance_type("m6g.2xlarge", cpu=8, memory=32, price=0.5, zones=of, arch="arm64"),
    )


def sold(
    *requirements: Requirement, name: str = "default", zones: Iterable[str] = (A, B, C), **more: object
) -> PoolOffer:
    """Return the offer of a pool whose types are sold in these zones; `more` is of the pool."""
    return offer(pool(name, *requirements, **more), types(zones))  # type: ignore[arg-type]


def solved(problem: Problem) -> PackingPlan:
    """Return the plan for a problem: a valid one."""
    plan = pack(problem)
    assert faults(problem, plan) == []
    return plan


def domains(problem: Problem, key: str = labels.ZONE, of: str = "") -> dict[str, int]:
    """Return how many pods (of one app alone, if one is named) the plan has where, less those refused."""
    counts: Counter[str] = Counter()
    for planned in nodes_of(problem, solved(problem)):
        domain = planned.domain(key) or "?"
        for pod in planned.pods:
            if not of or pod.labels.get("app") == of:
                counts[domain] += 1
    return dict(sorted(counts.items()))


def together(problem: Problem) -> list[list[str]]:
    """Return which pods share nodes, by their names, without the nodes nobody goes to."""
    found = [sorted(pod.uid for pod in one.pods) for one in nodes_of(problem, solved(problem))]
    return sorted(members for members in found if members)


def refused(problem: Problem) -> list[str]:
    """Return which pods have no place."""
    return sorted(uid for one in solved(problem).refused for uid in one.pods)
