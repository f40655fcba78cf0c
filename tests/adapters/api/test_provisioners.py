from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.adapters.api.builders import decoded, provisioner_tree, read
from treenail.adapters.api.manifests import decode, parse_manifests
from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet, NodeClassRef
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation, NodePool
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint

LINUX = Requirement(labels.OS, frozenset({"linux"}))
AMD64 = Requirement(labels.ARCH, frozenset({"amd64"}))
ON_DEMAND = Requirement(labels.CAPACITY_TYPE, frozenset({"on-demand"}))
CATEGORIES = Requirement(labels.INSTANCE_CATEGORY, frozenset({"c", "m", "r"}))
GENERATIONS = Requirement.of(labels.INSTANCE_GENERATION, Operator.GT, ("2",))


def pool(**spec: Any) -> NodePool:
    return read(provisioner_tree(**spec), NodePool)


def listing(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def test_what_a_provisioner_leaves_open_is_linux_on_demand_of_the_usual_types() -> None:
    assert pool().requirements == Requirements((LINUX, AMD64, ON_DEMAND, CATEGORIES, GENERATIONS))


@pytest.mark.parametrize("key", [labels.OS, labels.ARCH, labels.CAPACITY_TYPE])
def test_a_default_gives_way_to_a_requirement_of_its_key(key: str) -> None:
    requirements = pool(requirements=[listing(key, "spot", "x")]).requirements

    assert requirements[key] == Requirement(key, frozenset({"spot", "x"}))
    assert len(requirements) == 5


@pytest.mark.parametrize(
    "key",
    [labels.INSTANCE_TYPE, labels.INSTANCE_FAMILY, labels.INSTANCE_CATEGORY, labels.INSTANCE_GENERATION],
)
def test_a_provisioner_that_says_which_types_gets_no_default_types(key: str) -> None:
    requirements = pool(requirements=[listing(key, "5")]).requirements

    assert set(requirements) == {labels.OS, labels.ARCH, labels.CAPACITY_TYPE, key}


def test_the_older_name_of_a_label_suppresses_its_default_too() -> None:
    requirements = pool(requirements=[listing("beta.kubernetes.io/arch", "arm64")]).requirements

    assert requirements[labels.ARCH].single == "arm64"


def test_a_label_does_not_suppress_a_default() -> None:
    assert pool(labels={labels.ARCH: "arm64"}).requirements[labels.ARCH].single == "amd64"


def test_what_is_unset_is_never_and_nothing() -> None:
    own = pool()

    with_pods = Budget(percent=10, reasons=("Drifted", "Expired", "Underutilized"))
    assert own.disruption == Disruption(
        policy=ConsolidationPolicy.WHEN_EMPTY,
        consolidate_after=None,
        expire_after=None,
        budgets=(with_pods,),
    )
    assert own.weight == 0
    assert own.limits is None
    assert own.generation is Generation.V1ALPHA5
    assert own.node_class == NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
    assert own.not_acted_on == ()


def test_every_field_of_a_provisioner_comes_through() -> None:
    own = pool(
        annotations={"example.com/note": "x"},
        labels={"team": "a"},
        taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}],
        startupTaints=[{"key": "boot", "effect": "NoExecute"}],
        kubeletConfiguration={
            "maxPods": 20,
            "containerRuntime": "containerd",
            "clusterDNS": ["10.0.1.100"],
            "systemReserved": {"cpu": "100m", "memory": "100Mi"},
            "evictionHard": {"nodefs.available": "10%", "memory.available": "5%"},
            "imageGCHighThresholdPercent": 85,
            "cpuCFSQuota": True,
        },
        ttlSecondsAfterEmpty=30,
        limits={"resources": {"cpu": 10, "memory": "1Ti"}},
        weight=7,
    )

    assert own.annotations == {"example.com/note": "x"}
    assert own.labels == {"team": "a"}
    assert own.taints == (Taint("team", Effect.NO_SCHEDULE, "a"),)
    assert own.startup_taints == (Taint("boot", Effect.NO_EXECUTE),)
    assert own.kubelet == Kubelet(
        max_pods=20,
        container_runtime="containerd",
        cluster_dns=("10.0.1.100",),
        system_reserved=Resources({"cpu": 100, "memory": 100 * 2**20}),
        eviction_hard=(("memory.available", "5%"), ("nodefs.available", "10%")),
        image_gc_high_threshold_percent=85,
        cpu_cfs_quota=True,
    )
    assert own.disruption.consolidate_after == timedelta(seconds=30)
    assert own.limits == Resources({"cpu": 10_000, "memory": 2**40})
    assert own.weight == 7


def test_an_empty_node_may_be_given_back_at_once() -> None:
    assert pool(ttlSecondsAfterEmpty=0).disruption.consolidate_after == timedelta(0)


def test_what_is_not_acted_on_yet_is_listed_and_warned_of() -> None:
    tree = provisioner_tree(
        consolidation={"enabled": True},
        ttlSecondsUntilExpired=3600,
        requirements=[{"key": "team", "operator": "Exists", "values": ["ignored"]}],
    )

    own = read(tree, NodePool)

    assert own.not_acted_on == ("spec.requirements[0].values",)
    assert own.disruption.policy is ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    assert own.disruption.expire_after == timedelta(hours=1)


def test_a_warning_names_file_object_and_field() -> None:
    text = (
        "{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: default},"
        " spec: {providerRef: {name: default}, requirements: [{key: a, operator: Exists, values: [b]}]}}"
    )

    assert decoded(text, node_classes_optional=True).warnings == (
        "x.yaml: Provisioner default: spec.requirements[0].values: is accepted, but not acted on yet",
    )


def test_consolidation_switched_on_takes_nodes_at_once_empty_ones_too() -> None:
    own = pool(consolidation={"enabled": True}).disruption

    assert own.policy is ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    assert own.consolidate_after == timedelta(0)


def test_consolidation_switched_off_leaves_empty_nodes_to_their_own_time() -> None:
    own = pool(consolidation={"enabled": False}, ttlSecondsAfterEmpty=5)

    assert own.disruption.policy is ConsolidationPolicy.WHEN_EMPTY
    assert own.disruption.consolidate_after == timedelta(seconds=5)
    assert own.not_acted_on == ()


def test_a_provider_within_is_a_node_class_named_after_its_provisioner() -> None:
    text = """
        {apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: team-a}, spec: {provider: {
          apiVersion: extensions.karpenter.sh/v1alpha1, kind: AWS,
          subnetSelector: {Name: a}, securityGroupSelector: {Name: b}}}}"""

    own, node_class = decode(parse_manifests(text.encode(), "x.yaml")[0])

    assert isinstance(own, NodePool)
    assert getattr(node_class, "ref", None) == own.node_class
    assert own.node_class == NodeClassRef("karpenter.sh", "Provisioner", "team-a")


def test_bounds_and_windows_and_team_labels_are_allowed() -> None:
    requirements = pool(
        requirements=[
            {"key": labels.INSTANCE_CPU, "operator": "Gt", "values": ["3"]},
            {"key": labels.INSTANCE_CPU, "operator": "Lt", "values": ["17"]},
            listing("node.kubernetes.io/team", "a"),
            listing("kops.k8s.io/instancegroup", "nodes"),
            {"key": "example.com/old", "operator": "DoesNotExist"},
        ]
    ).requirements

    assert requirements[labels.INSTANCE_CPU].at_least == 4
    assert requirements[labels.INSTANCE_CPU].at_most == 16
    assert requirements["example.com/old"].operator is Operator.DOES_NOT_EXIST
