"""Problems of pods that have something to do with each other: topologies, ports, volumes and namespaces."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.domain.packing.colocated import apart, app, near, of_app, spread, with_terms
from tests.domain.packing.problems import ZONES, asking, existing_node, expression, is_in, offer, pods, pool
from tests.domain.packing.strategies import DEDICATED, DISLIKED, TEAM, TOLERATIONS, some_types
from treenail.domain.model import labels
from treenail.domain.model.pods import (
    Expression,
    HostPort,
    LabelSelector,
    NodeAffinity,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodVolume,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.packing.problem import (
    ExistingNode,
    Packing,
    PackingSettings,
    PoolOffer,
    Problem,
    Resident,
    VolumeNeeds,
)

EBS = "ebs.csi.aws.com"
NAMESPACES = {"default": {"tier": "front"}, "data": {"tier": "back"}}
_NODE_TERMS: list[tuple[Expression, ...]] = [
    (expression(labels.ZONE, Operator.IN, ZONES[0]),),
    (expression(labels.ZONE, Operator.NOT_IN, ZONES[0]),),
    (expression(labels.CAPACITY_TYPE, Operator.IN, labels.ON_DEMAND),),
    (expression(TEAM, Operator.IN, "a", "b"),),
    (expression(labels.ARCH, Operator.IN, "arm64"),),
]

KEYS = st.sampled_from(
    [labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.HOSTNAME, labels.CAPACITY_TYPE, TEAM]
)
SELECTORS = st.sampled_from(
    [
        LabelSelector((("app", "web"),)),
        LabelSelector((("app", "web"),)),
        LabelSelector((("app", "db"),)),
        LabelSelector(),
        LabelSelector(expressions=(Expression("app", Operator.NOT_IN, ("db",)),)),
        None,
    ]
)
APPS = st.sampled_from(["web", "db", "cache"])
PORTS = st.sampled_from(
    [(HostPort(80),), (HostPort(80, ip="10.0.0.1"),), (HostPort(80, "UDP"),), (HostPort(80, ip="10.0.0.2"),)]
)


@st.composite
def spreads(draw: st.DrawFn, *, hard: bool | None = None) -> TopologySpread:
    return TopologySpread(
        draw(KEYS),
        draw(st.integers(1, 2)),
        hard=draw(st.booleans()) if hard is None else hard,
        selector=draw(SELECTORS),
        min_domains=draw(st.sampled_from([None, None, None, 3])),
        honor_node_affinity=draw(st.booleans()),
        honor_node_taints=draw(st.booleans()),
        match_label_keys=draw(st.sampled_from([(), (), ("version",)])),
    )


@st.composite
def affinities(draw: st.DrawFn, *, hard: bool | None = None, anti: bool | None = None) -> PodAffinityTerm:
    must = draw(st.booleans()) if hard is None else hard
    return PodAffinityTerm(
        draw(KEYS),
        draw(SELECTORS),
        namespaces=draw(st.sampled_from([(), (), (), ("data",)])),
        namespace_selector=draw(
            st.sampled_from([None, None, None, LabelSelector(), LabelSelector((("tier", "back"),))])
        ),
        anti=draw(st.booleans()) if anti is None else anti,
        weight=None if must else draw(st.integers(1, 3)),
    )


@st.composite
def sociable_specs(draw: st.DrawFn, *, wishes: bool = True) -> PodSpec:
    hard = None if wishes else True
    spec = asking(
        draw(st.sampled_from(["100m", "500m", "1", "3"])),
        draw(st.sampled_from(["0", "1Gi"])),
        selector=draw(st.sampled_from([{}, {}, {}, {labels.ZONE: ZONES[1]}, {TEAM: "a"}])),
        required=draw(
            st.lists(st.sampled_from(_NODE_TERMS), max_size=2) if draw(st.booleans()) else st.just([])
        ),
        tolerations=draw(TOLERATIONS),
    )
    kind = draw(st.integers(0, 6))
    if kind in (0, 1):
        spec = replace(spec, spread=tuple(draw(st.lists(spreads(hard=hard), min_size=1, max_size=2))))
    if kind in (1, 2, 3):
        spec = replace(
            spec, pod_affinity=tuple(draw(st.lists(affinities(hard=hard), min_size=1, max_size=2)))
        )
    if kind == 4:
        spec = replace(spec, host_ports=draw(PORTS))
    return spec


@st.composite
def sociable_pods(draw: st.DrawFn, *, wishes: bool = True) -> tuple[tuple[Pod, ...], dict[str, VolumeNeeds]]:
    made: list[Pod] = []
    volumes: dict[str, VolumeNeeds] = {}
    for number in range(draw(st.integers(1, 4))):
        spec = draw(sociable_specs(wishes=wishes))
        own = {
            "app": draw(st.sampled_from(["web", "web", "db"])),
            "version": draw(st.sampled_from(["1", "2"])),
        }
        namespace = draw(st.sampled_from(["default", "default", "data"]))
        needs = None
        if draw(st.integers(0, 4)) == 0:
            spec, needs = replace(spec, volumes=(PodVolume("data", claim_name="data"),)), draw(volume_needs())
        some = pods(f"lot-{number}", draw(st.integers(1, 4)), spec, age=number % 2)
        made += (replace(pod, labels=own, namespace=namespace) for pod in some)
        if needs is not None:
            volumes |= {pod.uid: needs for pod in some}
    return tuple(made), volumes


@st.composite
def volume_needs(draw: st.DrawFn) -> VolumeNeeds:
    zones = draw(st.lists(st.sampled_from([*ZONES, "nowhere"]), min_size=1, max_size=2, unique=True))
    return VolumeNeeds(
        alternatives=tuple(Requirements((is_in(labels.ZONE, zone),)) for zone in zones),
        known=draw(st.sampled_from([(), ((EBS, "vol-1"),), ((EBS, "vol-1"), (EBS, "vol-2"))])),
        fresh=draw(st.sampled_from([(), ((EBS, 1),), ((EBS, 2),)])),
    )


@st.composite
def residents(draw: st.DrawFn) -> Resident:
    terms = draw(
        st.lists(affinities(hard=True, anti=True), max_size=1) if draw(st.booleans()) else st.just([])
    )
    return Resident(
        namespace=draw(st.sampled_from(["default", "default", "data"])),
        labels=(("app", draw(st.sampled_from(["web", "db"]))), ("version", "1")),
        anti_affinity=tuple(terms),
        host_ports=draw(PORTS) if draw(st.integers(0, 3)) == 0 else (),
        leaving=draw(st.integers(0, 4)) == 0,
    )


@st.composite
def sociable_rooms(draw: st.DrawFn, number: int) -> ExistingNode:
    name = f"room-{number}"
    there = existing_node(
        name,
        {"cpu": draw(st.sampled_from([1, 3, 8])), "memory": "16Gi", "pods": draw(st.sampled_from([1, 5]))},
        node_labels={
            labels.ARCH: "amd64",
            labels.CAPACITY_TYPE: labels.ON_DEMAND,
            labels.HOSTNAME: name,
            **draw(
                st.sampled_from(
                    [{labels.ZONE: ZONES[0]}, {labels.ZONE: ZONES[1]}, {labels.ZONE: "zone-c"}, {}]
                )
            ),
            **draw(st.sampled_from([{}, {TEAM: "a"}])),
        },
        taints=draw(st.sampled_from([(), (), (), (DEDICATED,), (DISLIKED,)])),
    )
    return replace(
        there,
        residents=tuple((one, draw(st.integers(1, 2))) for one in draw(st.lists(residents(), max_size=2))),
        open=draw(st.integers(0, 4)) > 0,
        attachable=draw(st.sampled_from([{}, {EBS: 1}, {EBS: 3}])),
        attached=draw(st.sampled_from([frozenset(), frozenset({(EBS, "vol-1")})])),
    )


@st.composite
def sociable_offers(draw: st.DrawFn, *, limited: bool = True, least: int = 0) -> tuple[PoolOffer, ...]:
    made = []
    for number in range(draw(st.integers(least, 2))):
        of = pool(
            f"pool-{number}",
            *draw(
                st.sampled_from(
                    [
                        [],
                        [],
                        [is_in(labels.ZONE, ZONES[0])],
                        [is_in(TEAM, "a", "b")],
                        [is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)],
                    ]
                )
            ),
            taints=draw(st.sampled_from([(), (), (), (DEDICATED,), (DISLIKED,)])),
        )
        limits = (
            draw(st.sampled_from([{"cpu": 8}, {"cpu": 40}, {"nodes": 2}]))
            if limited and draw(st.booleans())
            else None
        )
        made.append(offer(of, draw(some_types()), limits=limits))
    return tuple(made)


@st.composite
def sociable_problems(
    draw: st.DrawFn, *, limited: bool = True, wishes: bool = True, steps: st.SearchStrategy[int] | None = None
) -> Problem:
    some, volumes = draw(sociable_pods(wishes=wishes))
    ports = draw(PORTS) if draw(st.integers(0, 5)) == 0 else ()
    return Problem(
        pods=some,
        existing_nodes=tuple(draw(sociable_rooms(number)) for number in range(draw(st.integers(0, 3)))),
        offers=draw(sociable_offers(limited=limited)),
        daemons=(replace(asking("50m"), host_ports=ports),) if ports else (),
        volumes=volumes,
        namespaces=NAMESPACES,
        settings=PackingSettings(
            packing=draw(st.sampled_from(Packing)),
            steps=draw(steps) if steps is not None else None,
        ),
    )


@st.composite
def lone_pods(draw: st.DrawFn) -> Problem:
    """Problems of one pod with wishes."""
    problem = draw(sociable_problems(limited=False))
    spec = replace(
        problem.pods[0].spec,
        node_affinity=NodeAffinity(
            tuple(draw(st.lists(st.sampled_from(_NODE_TERMS), max_size=1))),
            tuple(draw(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(_NODE_TERMS)), max_size=2))),
        ),
        pod_affinity=tuple(draw(st.lists(affinities(), max_size=2))),
        spread=tuple(draw(st.lists(spreads(), max_size=2))),
    )
    return replace(
        problem,
        pods=(replace(problem.pods[0], spec=spec),),
        offers=draw(sociable_offers(limited=False, least=1)),
    )


@st.composite
def crowds(draw: st.DrawFn, *, limited: bool = True) -> Problem:
    """Problems of many pods of a few apps, most of which matter to each other by node or by zone."""
    pod_groups: list[Pod] = []
    for number in range(draw(st.integers(2, 6))):
        mine, other = draw(st.tuples(APPS, APPS))
        terms = draw(st.sampled_from(_crowd_terms(of_app(mine), of_app(other))))
        spec = with_terms(
            *terms,
            of=asking(
                draw(st.sampled_from(["100m", "500m", "1", "2", "3"])),
                draw(st.sampled_from(["0", "1Gi", "4Gi"])),
                selector=draw(st.sampled_from([{}, {}, {}, {labels.ZONE: ZONES[0]}])),
            ),
        )
        pod_groups += app(mine, draw(st.integers(1, 12)), spec, pod_group=f"lot-{number}")
    limits = draw(st.sampled_from([{"cpu": 16}, {"cpu": 64}])) if limited and draw(st.booleans()) else None
    return Problem(
        pods=tuple(pod_groups),
        existing_nodes=tuple(draw(sociable_rooms(number)) for number in range(draw(st.integers(0, 3)))),
        offers=(offer(types=draw(some_types()), limits=limits),),
        settings=PackingSettings(packing=draw(st.sampled_from(Packing))),
    )


def _crowd_terms(
    mine: LabelSelector, other: LabelSelector
) -> list[list[TopologySpread | PodAffinityTerm | HostPort]]:
    node = labels.HOSTNAME
    return [
        [],
        [apart(mine, node)],
        [apart(mine, node), spread(selector=mine)],
        [apart(other, node)],
        [apart(other, node), spread(selector=mine)],
        [apart(other)],
        [apart(other, node, weight=1)],
        [spread(node, 1, mine)],
        [spread(node, 3, mine)],
        [spread(skew=2, selector=mine)],
        [near(other, node)],
        [near(mine, node)],
        [near(other)],
        [HostPort(80)],
        [HostPort(80, ip="10.0.0.1")],
    ]
