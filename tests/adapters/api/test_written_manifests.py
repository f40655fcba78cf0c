from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import yaml
from hypothesis import given

from tests.adapters.api.strategies import claims, nodes
from treenail.adapters.api.manifests import decode, parse_manifests, to_manifest
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.events import event_manifest
from treenail.domain.model import labels
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import (
    Expression,
    HostPort,
    LabelSelector,
    NodeAffinity,
    Owner,
    Phase,
    Pod,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    PodVolume,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Toleration, TolerationOperator

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


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
            resource_claims=(PodResourceClaim("gpu", "shared"), PodResourceClaim("nic", template="fast")),
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
        claims_made=(("nic", "p-nic-x7k2l"), ("none", "")),
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
