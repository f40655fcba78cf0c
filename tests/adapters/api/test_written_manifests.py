from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import yaml
from hypothesis import given
from hypothesis import strategies as st

from treenail.adapters.api.manifests import decode, parse_manifests, to_manifest
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.events import event_manifest
from treenail.domain import labels
from treenail.domain.events import ClusterEvent, ObjectRef
from treenail.domain.node_classes import NodeClassRef
from treenail.domain.node_pools import Generation
from treenail.domain.nodes import Condition, Node, NodeClaim, Status
from treenail.domain.pods import (
    Expression,
    HostPort,
    LabelSelector,
    NodeAffinity,
    Owner,
    Phase,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodVolume,
    TopologySpread,
)
from treenail.domain.requirements import Operator, Requirement, Requirements
from treenail.domain.resources import Resources
from treenail.domain.taints import Effect, Taint, Toleration, TolerationOperator

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
keys = st.sampled_from(["team", "example.com/team", "karpenter.sh/x", labels.ZONE, labels.ARCH, "size"])
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
).map(tuple)
taints = st.lists(
    st.builds(Taint, key=keys, effect=st.sampled_from(Effect), value=values),
    max_size=3,
    unique_by=lambda t: (t.key, t.effect),
).map(tuple)


@st.composite
def requirements(draw: st.DrawFn, *, old: bool) -> Requirements:
    """Conjunctions as solving makes them: lists, exclusions and bounds met with each other."""
    made = []
    for key in draw(st.lists(keys, max_size=4)):
        operator = draw(st.sampled_from(Operator))
        several = draw(st.sets(listed, min_size=1, max_size=3))
        if operator in (Operator.GT, Operator.LT, Operator.GTE, Operator.LTE):
            several = {str(draw(st.integers(-5, 2**40)))}
        least = None if old else draw(st.none() | st.integers(1, 50))
        made.append(Requirement.of(key, operator, several, min_values=least))
    return Requirements(made)


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
    )


nodes = st.builds(
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


def read_again(thing: NodeClaim | Node | Pod) -> ApiObject:
    """What is read of `thing` as it is written; JSON and YAML agree on it."""
    tree = to_manifest(thing)
    (from_json,) = parse_manifests(json.dumps(tree).encode(), "x.json")
    (from_yaml,) = parse_manifests(yaml.dump(tree, Dumper=yaml.CSafeDumper).encode(), "x.yaml")
    (one,) = decode(from_json)
    assert decode(from_yaml) == (one,)
    return one


@given(claims())
def test_a_claim_is_read_as_it_was_written(claim: NodeClaim) -> None:
    assert read_again(claim) == claim


@given(nodes)
def test_a_node_is_read_as_it_was_written(node: Node) -> None:
    assert read_again(node) == node


def test_a_pod_is_read_as_it_was_written_but_for_its_containers() -> None:
    zone = Expression(labels.ZONE, Operator.IN, ("a", "b"))
    web = LabelSelector((("app", "web"),), (Expression("tier", Operator.EXISTS),))
    pod = Pod(
        uid="u-1",
        name="p",
        namespace="prod",
        resource_version=7,
        labels={"app": "web"},
        annotations={"a": "b"},
        owners=(Owner("ReplicaSet", "r", "u", "apps/v1", block_deletion=True),),
        spec=PodSpec(
            requests=Resources({"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 1, "pods": 1}),
            limits=Resources({"cpu": 1000, "memory": 2**31, "ephemeral-storage": 2**30}),
            node_selector=(("a", "1"), ("b", "2")),
            node_affinity=NodeAffinity(required=((zone,),), preferred=((5, (zone,)),)),
            tolerations=(
                Toleration(operator=TolerationOperator.EXISTS),
                Toleration("team", TolerationOperator.EQUAL, "a", Effect.NO_EXECUTE, 0),
            ),
            spread=(
                TopologySpread(
                    topology_key=labels.ZONE,
                    max_skew=1,
                    hard=True,
                    selector=web,
                    min_domains=2,
                    honor_node_affinity=False,
                    honor_node_taints=True,
                    match_label_keys=("hash",),
                ),
                TopologySpread(topology_key="h", max_skew=1, hard=False, selector=LabelSelector()),
            ),
            pod_affinity=(
                PodAffinityTerm("h", web, ("n",), LabelSelector()),
                PodAffinityTerm("h", web, weight=3),
                PodAffinityTerm("h", web, anti=True),
            ),
            host_ports=(HostPort(53, "UDP", "10.0.0.1"), HostPort(80)),
            volumes=(
                PodVolume("data", "data-0"),
                PodVolume("tmp", storage_class="", ephemeral=True),
                PodVolume("any", ephemeral=True),
            ),
            resource_claims=("gpu",),
            scheduler_name="other",
            scheduling_gates=("g",),
            priority=9,
            priority_class="high",
            grace_seconds=0,
        ),
        created_at=NOON,
        deleting_since=NOON,
        phase=Phase.RUNNING,
        node_name="n-1",
        scheduled_at=NOON,
        started_at=NOON,
        ready=True,
    )

    assert read_again(pod) == pod


def test_a_pending_pod_keeps_since_when_no_node_was_found() -> None:
    pod = Pod(
        uid="default/p",
        name="p",
        spec=PodSpec(requests=Resources({"pods": 1})),
        created_at=NOON,
        unschedulable_since=NOON,
        nominated_node="n-1",
    )

    assert read_again(pod) == pod
    assert "uid" not in to_manifest(pod)["metadata"]


def test_bounds_are_written_with_operators_every_version_knows() -> None:
    claim = NodeClaim(
        name="c",
        pool="p",
        node_class=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        requirements=Requirements(
            (
                Requirement.of(labels.INSTANCE_CPU, Operator.GTE, ("4",)),
                Requirement.of(labels.INSTANCE_CPU, Operator.LTE, ("16",)),
                Requirement.of(labels.INSTANCE_GENERATION, Operator.GTE, ("0",)),
            )
        ),
        created_at=NOON,
    )

    assert [(r["operator"], r["values"]) for r in to_manifest(claim)["spec"]["requirements"]] == [
        ("Gt", ["3"]),
        ("Lt", ["17"]),
        ("Gte", ["0"]),
    ]


def test_an_event_names_its_object_and_equal_ones_are_one() -> None:
    about = ObjectRef("Machine", "m-1", uid="u-1")
    event = ClusterEvent(about, "Launched", "launched i-1", warning=True)

    once = to_manifest(event)
    later = event_manifest(event, first=NOON, last=NOON + timedelta(minutes=1), count=3)
    other = to_manifest(ClusterEvent(about, "Launched", "launched i-2", warning=True))

    assert once["metadata"] == later["metadata"]
    assert once["metadata"] != other["metadata"]
    assert once["metadata"]["name"].startswith("m-1.")
    assert later["involvedObject"] == {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "name": "m-1",
        "uid": "u-1",
    }
    assert (later["type"], later["reason"], later["message"]) == ("Warning", "Launched", "launched i-1")
    assert (later["count"], later["firstTimestamp"], later["lastTimestamp"]) == (
        3,
        "2026-05-01T12:00:00Z",
        "2026-05-01T12:01:00Z",
    )
