"""Claims and nodes as hypothesis draws them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Condition, Node, NodeClaim, Status
from treenail.domain.model.pods import Owner
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
RESTRICTED = "karpenter.sh/x"
keys = st.sampled_from(["team", "example.com/team", RESTRICTED, labels.ZONE, labels.ARCH, "size"])
values = st.from_regex(r"([a-zA-Z0-9]([a-z0-9_.-]{0,5}[a-z0-9])?)?", fullmatch=True)
listed = st.from_regex(r"[a-z0-9]{1,4}", fullmatch=True)
texts = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=12)
label_maps = st.dictionaries(keys, values, max_size=3)
times = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
resources = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"]),
    st.integers(0, 2**53),
    max_size=4,
).map(Resources)
owners = st.lists(
    st.builds(Owner, kind=names, name=names, uid=names, api_version=names, controller=st.booleans()),
    max_size=2,
).map(tuple)
conditions = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from(["Launched", "Registered", "Initialized", "Ready", "Drifted"]),
        status=st.sampled_from(Status),
        reason=names,
        message=texts,
        since=st.none() | times,
    ),
    max_size=3,
    unique_by=lambda c: c.type,
).map(tuple)
taints = st.lists(
    st.builds(Taint, key=keys, effect=st.sampled_from(Effect), value=values),
    max_size=3,
    unique_by=lambda t: (t.key, t.effect),
).map(tuple)


@st.composite
def requirements(draw: st.DrawFn, *, old: bool) -> Requirements:
    """Conjunctions as solving makes them: lists, exclusions and bounds met with each other.

    But for Machines, without labels that are restricted, and with no more minValues than values.
    """
    made = []
    for key in draw(st.lists(keys if old else keys.filter(lambda key: key != RESTRICTED), max_size=4)):
        operator = draw(st.sampled_from(Operator))
        several = draw(st.sets(listed, min_size=1, max_size=3))
        if operator in (Operator.GT, Operator.LT, Operator.GTE, Operator.LTE):
            several = {str(draw(st.integers(-5, 2**40)))}
        least = None if old else draw(st.none() | st.integers(1, 50))
        made.append(Requirement.of(key, operator, several, min_values=least))
    met = Requirements(made).values()
    return Requirements(
        one if one.complement else replace(one, min_values=min(one.min_values or 0, len(one.values)) or None)
        for one in met
    )


@st.composite
def claims(draw: st.DrawFn) -> NodeClaim:
    generation = draw(st.sampled_from([Generation.V1ALPHA5, Generation.V1]))
    old = generation is Generation.V1ALPHA5
    pool = draw(names)
    types = tuple(draw(st.lists(names, max_size=4, unique=True)))
    wanted = [Requirement(labels.INSTANCE_TYPE, frozenset(types))] if types else []
    kinds = ["AWSNodeTemplate"] if old else ["EC2NodeClass", "AWSNodeTemplate"]
    classes = [NodeClassRef("karpenter.k8s.aws", kind, "default") for kind in kinds]
    classes += [
        NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"),
        NodeClassRef("karpenter.sh", "Provisioner", pool),
    ]
    period = st.none() | st.integers(0, 10**6).map(lambda s: timedelta(seconds=s))
    own_taints = draw(taints)
    return NodeClaim(
        name=draw(names),
        uid=draw(names),
        resource_version=draw(st.integers(0, 2**40)),
        generation=generation,
        pool=pool,
        node_class=draw(st.sampled_from(classes)),
        labels={**draw(label_maps), generation.pool_label: pool},
        annotations=draw(label_maps),
        owners=draw(owners),
        finalizers=tuple(draw(st.lists(names, max_size=2))),
        taints=own_taints[:1],
        startup_taints=own_taints[1:],
        requirements=draw(requirements(old=old)).with_(wanted),
        instance_types=types,
        requests=draw(resources),
        termination_grace_period=None if old else draw(period),
        created_at=draw(times),
        deleting_since=draw(st.none() | times),
        provider_id=draw(names),
        node_name=draw(names),
        image_id=draw(names),
        capacity=draw(resources),
        allocatable=draw(resources),
        conditions=draw(conditions),
        last_pod_event_at=None if old else draw(st.none() | times),
    )


plain_nodes = st.builds(
    Node,
    name=names,
    uid=names,
    resource_version=st.integers(0, 2**40),
    labels=label_maps,
    annotations=label_maps,
    owners=owners,
    finalizers=st.lists(names, max_size=2).map(tuple),
    taints=taints,
    unschedulable=st.booleans(),
    provider_id=names,
    capacity=resources,
    allocatable=resources,
    conditions=conditions,
    created_at=times,
    deleting_since=st.none() | times,
)


@st.composite
def nodes_of(draw: st.DrawFn) -> Node:
    """Nodes of which some taints say since when they are there."""
    node = draw(plain_nodes)
    dated = [taint for taint in node.taints if draw(st.booleans())]
    return replace(node, taint_times={taint: draw(times).strftime("%Y-%m-%dT%H:%M:%SZ") for taint in dated})


nodes = nodes_of()
