"""Problems of every kind, small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.domain.packing.problems import (
    ZONES,
    asking,
    catalogue,
    existing_node,
    expression,
    is_in,
    offer,
    pods,
    pool,
)
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import HostPort, Pod, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import NOTHING
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator
from treenail.domain.packing.problem import (
    ExistingNode,
    Packing,
    PackingOrder,
    PackingSettings,
    PoolOffer,
    Problem,
)

TEAM = "team"
DEDICATED = Taint("dedicated", Effect.NO_SCHEDULE, "x")
DISLIKED = Taint("disliked", Effect.PREFER_NO_SCHEDULE)

EXPRESSIONS = st.sampled_from(
    [
        expression(labels.ARCH, Operator.IN, "amd64"),
        expression(labels.ARCH, Operator.IN, "arm64"),
        expression(labels.ARCH, Operator.NOT_IN, "arm64"),
        expression(labels.CAPACITY_TYPE, Operator.IN, labels.SPOT),
        expression(labels.CAPACITY_TYPE, Operator.IN, labels.ON_DEMAND),
        expression(labels.ZONE, Operator.IN, ZONES[0]),
        expression(labels.ZONE, Operator.IN, ZONES[1], "nowhere"),
        expression(labels.ZONE, Operator.NOT_IN, ZONES[0]),
        expression(labels.INSTANCE_CPU, Operator.GT, "4"),
        expression(labels.INSTANCE_CPU, Operator.LT, "16"),
        expression(TEAM, Operator.IN, "a"),
        expression(TEAM, Operator.IN, "b", "c"),
        expression(TEAM, Operator.NOT_IN, "a"),
        expression(TEAM, Operator.EXISTS),
        expression(TEAM, Operator.DOES_NOT_EXIST),
        expression("gpu", Operator.DOES_NOT_EXIST),
    ]
)
_CPU: st.SearchStrategy[str | int] = st.sampled_from(["100m", "500m", "1", "1500m", "3", "7", "20", "90"])
_MEMORY: st.SearchStrategy[str | int] = st.sampled_from(["0", "128Mi", "1Gi", "5Gi", "30Gi"])
TERMS = st.lists(EXPRESSIONS, min_size=1, max_size=2).map(tuple)
TOLERATIONS = st.sampled_from(
    [
        (),
        (),
        (Toleration("dedicated", value="x", effect=Effect.NO_SCHEDULE),),
        (Toleration(operator=TolerationOperator.EXISTS),),
    ]
)


@st.composite
def specs(draw: st.DrawFn, *, wishes: bool = True) -> PodSpec:
    spec = asking(
        draw(_CPU),
        draw(_MEMORY),
        selector=draw(
            st.sampled_from([{}, {}, {labels.ARCH: "arm64"}, {TEAM: "a"}, {labels.ZONE: ZONES[1]}])
        ),
        required=draw(st.lists(TERMS, max_size=2)),
        preferred=draw(st.lists(st.tuples(st.integers(1, 3), TERMS), max_size=2 if wishes else 0)),
        tolerations=draw(TOLERATIONS),
        more=draw(st.sampled_from([{}, {}, {}, {"example.com/gpu": 1}])),
    )
    soft = TopologySpread(labels.ZONE, 1, hard=False)
    ports = (HostPort(8080),) if draw(st.integers(0, 15)) == 0 else ()
    if draw(st.integers(0, 15)) == 0:
        spec = replace(spec, requests=NOTHING)
    return replace(spec, spread=(soft,) if draw(st.booleans()) else (), host_ports=ports)


@st.composite
def some_types(draw: st.DrawFn) -> tuple[InstanceType, ...]:
    chosen = draw(st.lists(st.sampled_from(catalogue()), min_size=1, max_size=6, unique_by=lambda t: t.name))
    out = draw(st.integers(0, 2))
    return tuple(
        replace(t, offerings=tuple(replace(o, available=False) for o in t.offerings[:3]) + t.offerings[3:])
        if number < out
        else t
        for number, t in enumerate(chosen)
    )


POOL_REQUIREMENTS: list[list[Requirement]] = [
    [],
    [is_in(labels.CAPACITY_TYPE, labels.SPOT)],
    [is_in(labels.ARCH, "amd64"), is_in(labels.ZONE, ZONES[0])],
    [is_in(TEAM, "a", "b")],
    [Requirement.of(labels.INSTANCE_CPU, Operator.LT, ["9"])],
]
_LIMITS: list[dict[str, str | int]] = [
    {"cpu": 0},
    {"cpu": 8},
    {"cpu": 40, "memory": "100Gi"},
    {"nodes": 2},
    {"cpu": 100},
]


@st.composite
def offers(draw: st.DrawFn, *, limited: bool = True) -> tuple[PoolOffer, ...]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        of = pool(
            f"pool-{number}",
            *draw(st.sampled_from(POOL_REQUIREMENTS)),
            taints=draw(st.sampled_from([(), (), (DEDICATED,), (DISLIKED,)])),
            node_labels=draw(st.sampled_from([{}, {}, {"stage": "test"}])),
        )
        limits = draw(st.sampled_from(_LIMITS)) if limited and draw(st.booleans()) else None
        made.append(offer(of, draw(some_types()), limits=limits))
    return tuple(made)


@st.composite
def existing_nodes(draw: st.DrawFn, number: int = 0) -> ExistingNode:
    return existing_node(
        f"room-{number}",
        {
            "cpu": draw(st.sampled_from([1, 3, 8])),
            "memory": draw(st.sampled_from(["2Gi", "16Gi"])),
            "pods": draw(st.sampled_from([1, 5])),
            "disk": draw(st.sampled_from([0, 0, 0, -1])),
        },
        node_labels={
            labels.ZONE: draw(st.sampled_from(ZONES)),
            labels.ARCH: "amd64",
            labels.INSTANCE_CPU: "8",
            labels.CAPACITY_TYPE: labels.ON_DEMAND,
            **draw(st.sampled_from([{}, {TEAM: "a"}])),
        },
        taints=draw(st.sampled_from([(), (), (DEDICATED,), (DISLIKED,)])),
    )


@st.composite
def many_pods(draw: st.DrawFn, *, wishes: bool = True) -> tuple[Pod, ...]:
    pod_groups = draw(st.lists(st.tuples(specs(wishes=wishes), st.integers(1, 7)), max_size=5))
    return tuple(
        pod
        for number, (spec, count) in enumerate(pod_groups)
        for pod in pods(f"lot-{number}", count, spec, age=number % 2)
    )


def daemons() -> st.SearchStrategy[tuple[PodSpec, ...]]:
    selectors = st.sampled_from([{}, {labels.ARCH: "amd64"}, {TEAM: "a"}, {"stage": "test"}])
    daemon = st.builds(
        lambda cpu, selector, tolerations: asking(cpu, "40Mi", selector=selector, tolerations=tolerations),
        st.sampled_from(["50m", "200m", 2]),
        selectors,
        TOLERATIONS,
    )
    return st.lists(daemon, max_size=2).map(tuple)


@st.composite
def problems(
    draw: st.DrawFn, *, limited: bool = True, wishes: bool = True, steps: st.SearchStrategy[int] | None = None
) -> Problem:
    return Problem(
        pods=draw(many_pods(wishes=wishes)),
        existing_nodes=tuple(draw(existing_nodes(number)) for number in range(draw(st.integers(0, 3)))),
        offers=draw(offers(limited=limited)),
        daemons=draw(daemons()),
        settings=PackingSettings(
            packing=draw(st.sampled_from(Packing)),
            order=draw(st.sampled_from(PackingOrder)),
            steps=draw(steps) if steps is not None else None,
        ),
    )
