from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.adapters.api.builders import PAUSE, a_pod, pod_tree, read
from treenail.adapters.api.core.pod_specs import PodSpecs
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.written.pods import pod_manifest
from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.pod_parts import PodParts
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
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Toleration, TolerationOperator

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WEB = LabelSelector(match_labels=(("app", "web"),))
SELECTS_WEB = {"matchLabels": {"app": "web"}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_a_plain_pod_asks_for_a_place_and_nothing_else() -> None:
    pod = a_pod()

    assert pod.spec == PodSpec(requests=Resources({"pods": 1}))
    assert pod.key == "default/p"
    assert pod.uid == "default/p"
    assert pod.phase is Phase.PENDING
    assert not pod.provisionable


def test_everything_that_scheduling_looks_at_comes_through() -> None:
    spec = a_pod(
        nodeSelector={"b": "2", "a": "1"},
        affinity={
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                expression("cpu", "Gt", "4"),
                                expression("zone", "In", "a", "b"),
                            ]
                        },
                        {"matchExpressions": [expression("gpu", "Exists")]},
                    ]
                },
                PREFERRED: [
                    {"weight": 5, "preference": {"matchExpressions": [expression("z", "NotIn", "a")]}}
                ],
            }
        },
        tolerations=[
            {"operator": "Exists"},
            {"key": "team", "value": "a", "effect": "NoExecute", "tolerationSeconds": 0},
        ],
        resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}],
        schedulerName="other",
        schedulingGates=[{"name": "example.com/wait"}],
        priority=7,
        priorityClassName="high",
        terminationGracePeriodSeconds=0,
    ).spec

    assert spec.node_selector == (("a", "1"), ("b", "2"))
    assert spec.node_affinity == NodeAffinity(
        required=(
            (Expression("cpu", Operator.GT, ("4",)), Expression("zone", Operator.IN, ("a", "b"))),
            (Expression("gpu", Operator.EXISTS),),
        ),
        preferred=((5, (Expression("z", Operator.NOT_IN, ("a",)),)),),
    )
    assert spec.tolerations == (
        Toleration(operator=TolerationOperator.EXISTS),
        Toleration(key="team", value="a", effect=Effect.NO_EXECUTE, seconds=0),
    )
    assert spec.resource_claims == (PodResourceClaim("gpu", "shared"),)
    assert spec.scheduler_name == "other"
    assert spec.scheduling_gates == ("example.com/wait",)
    assert (spec.priority, spec.priority_class, spec.grace_seconds) == (7, "high", 0)


def test_spread_and_affinity_among_pods_come_through() -> None:
    term = {"topologyKey": "zone", "labelSelector": SELECTS_WEB}
    spec = a_pod(
        topologySpreadConstraints=[
            {
                "topologyKey": "zone",
                "maxSkew": 2,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": SELECTS_WEB,
                "minDomains": 3,
                "nodeTaintsPolicy": "Honor",
                "nodeAffinityPolicy": "Ignore",
                "matchLabelKeys": ["pod-template-hash"],
            },
            {"topologyKey": "host", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}},
        ],
        affinity={
            "podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {**term, "namespaceSelector": {}}}]},
            "podAntiAffinity": {REQUIRED: [{**term, "namespaces": ["b", "a"]}]},
        },
    ).spec

    assert spec.spread == (
        TopologySpread(
            topology_key="zone",
            max_skew=2,
            hard=True,
            selector=WEB,
            min_domains=3,
            honor_node_affinity=False,
            honor_node_taints=True,
            match_label_keys=("pod-template-hash",),
        ),
        TopologySpread(topology_key="host", max_skew=1, hard=False, selector=LabelSelector()),
    )
    assert spec.pod_affinity == (
        PodAffinityTerm(topology_key="zone", selector=WEB, namespace_selector=LabelSelector(), weight=1),
        PodAffinityTerm(topology_key="zone", selector=WEB, namespaces=("a", "b"), anti=True),
    )


def test_only_ports_and_volumes_that_bind_a_pod_to_nodes_are_kept() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}, {"containerPort": 81}]
    spec = a_pod(
        containers=[PAUSE | {"ports": ports}],
        volumes=[
            {"name": "kube-api-access-x2x4z", "projected": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
            {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gp3"}}}},
        ],
    ).spec

    assert spec.host_ports == (HostPort(port=8080, ip="10.0.0.1"),)
    assert spec.volumes == (
        PodVolume(name="data", claim_name="data-0"),
        PodVolume(name="tmp", storage_class="gp3", ephemeral=True),
    )


def test_every_port_of_a_pod_in_the_hosts_network_is_claimed() -> None:
    ports = [{"containerPort": 9100}, {"containerPort": 53, "protocol": "UDP"}]

    assert a_pod(hostNetwork=True, containers=[PAUSE | {"ports": ports}]).spec.host_ports == (
        HostPort(port=53, protocol="UDP"),
        HostPort(port=9100),
    )


def test_a_term_without_expressions_selects_no_node() -> None:
    terms = [{"matchExpressions": [expression("a", "Exists")]}, {}]

    spec = a_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}).spec

    assert spec.node_affinity.required == ((Expression("a", Operator.EXISTS),),)
    none = a_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}).spec
    assert none.node_affinity.required == ((Expression(labels.NODE_NAME, Operator.IN, ("",)),),)


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "ebs.csi.aws.com", "vol-1"),
        ({"azureDisk": {"diskName": "d", "diskURI": "/d"}}, "disk.csi.azure.com", "/d"),
        ({"cinder": {"volumeID": "v"}}, "cinder.csi.openstack.org", "v"),
        ({"gcePersistentDisk": {"pdName": "d"}}, "pd.csi.storage.gke.io", "d"),
        ({"vsphereVolume": {"volumePath": "[ds] d"}}, "csi.vsphere.vmware.com", "[ds] d"),
    ],
)
def test_a_disk_of_an_older_plugin_is_one_of_the_driver_that_took_over(
    source: dict[str, Any], driver: str, handle: str
) -> None:
    pod = a_pod(volumes=[{"name": "disk", **source}, {"name": "tmp", "emptyDir": {}}])

    assert pod.spec.volumes == (PodVolume(name="disk", driver=driver, handle=handle),)
    assert read(pod_manifest(pod), Pod).spec == pod.spec


def test_sidecars_claim_their_ports_on_the_node_and_other_init_containers_do_not() -> None:
    ports = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    once = {"name": "once", "ports": [{"containerPort": 81, "hostPort": 8081}]}
    sidecar = {"name": "sidecar", "restartPolicy": "Always", **ports}

    assert a_pod(initContainers=[once, sidecar]).spec.host_ports == (HostPort(port=8080),)


def test_a_pod_of_the_api_server_tells_where_it_stands() -> None:
    tree = pod_tree(nodeName="n-1")
    tree["metadata"] |= {
        "uid": "u-1",
        "resourceVersion": "17",
        "namespace": "prod",
        "labels": {"app": "web"},
        "creationTimestamp": "2026-05-01T12:00:00Z",
        "deletionTimestamp": "2026-05-01T14:00:00+02:00",
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
        ],
    }
    tree["status"] = {
        "phase": "Running",
        "startTime": "2026-05-01T12:00:00Z",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-05-01T12:00:00Z"},
            {"type": "Ready", "status": "True", "lastProbeTime": None},
        ],
    }

    pod = read(tree, Pod)

    assert (pod.uid, pod.resource_version, pod.key, pod.labels) == ("u-1", 17, "prod/p", {"app": "web"})
    assert pod.created_at == pod.deleting_since == pod.scheduled_at == pod.started_at == NOON
    assert pod.owners == (Owner("ReplicaSet", "r", "u", api_version="apps/v1"),)
    assert (pod.phase, pod.node_name, pod.ready) == (Phase.RUNNING, "n-1", True)


def test_a_pod_the_scheduler_found_no_node_for_may_be_provisioned() -> None:
    tree = pod_tree()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    tree["status"] = {"conditions": [condition | {"lastTransitionTime": "2026-05-01T12:00:00Z"}]}

    pod = read(tree, Pod)

    assert pod.unschedulable_since == NOON
    assert pod.provisionable


def test_a_pod_whose_node_is_lost_counts_as_running() -> None:
    assert read(pod_tree() | {"status": {"phase": "Unknown"}}, Pod).phase is Phase.RUNNING


def test_pods_of_one_template_share_one_spec_whatever_their_node_token_and_container_names() -> None:
    texts = [
        f"""{{apiVersion: v1, kind: Pod, metadata: {{name: p{n}}}, spec: {{nodeName: n{n},
            containers: [{{name: c{n}, resources: {{requests: {{cpu: {cpu}}}}}}}],
            volumes: [{{name: kube-api-access-{n}, projected: {{}}}}]}}}}"""
        for n, cpu in enumerate(("1", "1000m", "1.0", "2"))
    ]
    nodes = [f"{{apiVersion: v1, kind: Node, metadata: {{name: n{n}}}}}" for n in range(4)]

    pods = decode_all(parse_manifests("\n---\n".join(texts + nodes).encode(), "x.yaml")).pods

    assert pods[0].spec is pods[1].spec is pods[2].spec
    assert pods[3].spec is not pods[0].spec


def test_readings_that_share_their_specs_share_them_over_all_objects() -> None:
    specs = PodSpecs()
    data = json.dumps(pod_tree()).encode()

    first, second = (decode_all(parse_manifests(data, "x.json"), specs=specs).pods[0] for _ in range(2))

    assert first.spec is second.spec


def test_a_node_tells_what_it_has_and_what_keeps_pods_off() -> None:
    node = read(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n-1", "labels": {"zone": "a"}, "finalizers": ["karpenter.sh/termination"]},
            "spec": {
                "providerID": "aws:///a/i-1",
                "unschedulable": True,
                "taints": [{"key": "t", "effect": "NoSchedule", "timeAdded": "2026-05-01T12:00:00Z"}],
                "podCIDR": "10.0.0.0/24",
            },
            "status": {
                "capacity": {"cpu": "4", "memory": "16Gi", "pods": "58"},
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "lastTransitionTime": "2026-05-01T12:00:00Z",
                        "lastHeartbeatTime": "2026-05-01T12:00:00Z",
                    }
                ],
            },
        },
        Node,
    )

    assert node.ready
    assert node.unschedulable
    assert node.provider_id == "aws:///a/i-1"
    assert node.capacity == node.allocatable == Resources({"cpu": 4000, "memory": 2**34, "pods": 58})
    assert node.conditions[0].since == NOON
    assert [str(t) for t in node.taints] == ["t:NoSchedule"]


def test_of_a_pod_that_was_admitted_it_is_kept_whether_it_may_run_for_a_limited_time() -> None:
    unbounded, bounded = a_pod().spec.parts, a_pod(activeDeadlineSeconds=60).spec.parts

    assert unbounded is None
    assert bounded == PodParts(bounded=True)
