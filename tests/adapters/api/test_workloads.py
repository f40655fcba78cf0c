from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import PAUSE, deployment_tree, problem_of, read
from treenail.adapters.api.workloads import Deployment, PriorityClass, ReplicaSet, StatefulSet
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import Expression, LabelSelector, Owner, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

WEB = LabelSelector(match_labels=(("app", "web"),))
SPEC = PodSpec(requests=Resources({"pods": 1}))
TEMPLATE = PodTemplate(labels={"app": "web"}, spec=SPEC)


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    return {**deployment_tree(**spec), "kind": kind}


def core(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def test_a_deployment_keeps_one_replica_unless_it_says_more() -> None:
    assert read(deployment_tree(), Deployment) == Deployment(name="web", selector=WEB, template=TEMPLATE)
    assert read(deployment_tree(replicas=0), Deployment).replicas == 0


def test_a_replica_set_knows_whose_it_is() -> None:
    tree = workload("ReplicaSet", replicas=2)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    tree["metadata"] |= {"ownerReferences": [owner | {"blockOwnerDeletion": True}]}

    own = read(tree, ReplicaSet)

    assert own.replicas == 2
    assert own.owners == (Owner("Deployment", "web", "u", api_version="apps/v1", block_deletion=True),)


def test_a_stateful_set_has_claims_for_each_of_its_pods() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "gp3",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
        },
    }

    own = read(
        workload("StatefulSet", volumeClaimTemplates=[claim], podManagementPolicy="Parallel"), StatefulSet
    )

    assert own.parallel
    assert own.volume_claim_templates == (
        PersistentVolumeClaim(
            name="data", storage_class="gp3", access_modes=("ReadWriteOnce",), requested=10 * 2**30
        ),
    )


def test_a_claim_template_must_be_named() -> None:
    tree = workload("StatefulSet", volumeClaimTemplates=[{"spec": {}}])

    assert problem_of(tree) == "StatefulSet web: spec.volumeClaimTemplates[0].metadata.name: is missing"


def test_a_daemon_set_carries_what_its_pods_will_bear() -> None:
    tree = workload("DaemonSet")
    tree["spec"]["template"]["metadata"]["annotations"] = {"a": "b"}
    tree["metadata"]["namespace"] = "kube-system"

    assert read(tree, DaemonSet) == DaemonSet(
        uid="kube-system/web",
        name="web",
        namespace="kube-system",
        template_labels={"app": "web"},
        template_annotations={"a": "b"},
        spec=SPEC,
    )


def test_a_selector_by_expressions_may_match_too() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}

    own = read(deployment_tree(selector=selector), Deployment)

    assert own.selector == LabelSelector(expressions=(Expression("app", Operator.IN, ("web", "api")),))


def test_templates_of_equal_specs_share_them_with_nothing_lost() -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [PAUSE], "nodeSelector": {"a": "b"}},
    }

    assert read(deployment_tree(template=template), Deployment).template.spec.node_selector == (("a", "b"),)


@pytest.mark.parametrize(
    ("written", "expected", "of_seven"),
    [(2, Portion(2), 2), ("50%", Portion(50, percent=True), 4), ("0%", Portion(0, percent=True), 0)],
)
def test_a_budget_counts_pods_or_a_share_of_them_rounded_up(
    written: int | str, expected: Portion, of_seven: int
) -> None:
    selector = {"matchLabels": {"app": "web"}}
    own = read(
        core("PodDisruptionBudget", "policy/v1", spec={"selector": selector, "maxUnavailable": written}),
        PodDisruptionBudget,
    )

    assert own == PodDisruptionBudget(name="x", selector=WEB, max_unavailable=expected)
    assert expected.of(7) == of_seven


def test_a_budget_tells_nothing_and_everything_apart() -> None:
    nothing = read(core("PodDisruptionBudget", "policy/v1", spec={}), PodDisruptionBudget)
    everything = read(core("PodDisruptionBudget", "policy/v1", spec={"selector": {}}), PodDisruptionBudget)

    assert nothing.selector is None
    assert everything.selector == LabelSelector()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, "maxUnavailable: cannot stand beside spec.minAvailable"),
        (
            {"minAvailable": "half"},
            'minAvailable: "half" is neither a number nor a percentage up to 100%',
        ),
        ({"minAvailable": "101%"}, 'minAvailable: "101%" is neither a number nor a percentage up to 100%'),
        ({"maxUnavailable": -1}, "maxUnavailable: -1 must not be negative"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(spec: dict[str, Any], expected: str) -> None:
    line = problem_of(core("PodDisruptionBudget", "policy/v1", spec=spec))

    assert line == f"PodDisruptionBudget x: spec.{expected}"


def test_priorities_up_to_a_billion_are_for_users() -> None:
    tree = core(
        "PriorityClass", "scheduling.k8s.io/v1", value=1000, globalDefault=True, preemptionPolicy="Never"
    )

    assert read(tree, PriorityClass) == PriorityClass(
        name="x", value=1000, global_default=True, preempts=False
    )
    assert problem_of({**tree, "value": 2 * 10**9}) == (
        "PriorityClass x: value: 2000000000 is more than 1000000000, the highest allowed"
    )


def test_a_volume_tells_where_it_can_be_reached_from() -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    own = read(
        core(
            "PersistentVolume",
            spec={
                "capacity": {"storage": "10Gi"},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
                "storageClassName": "gp3",
                "claimRef": {"namespace": "prod", "name": "data-0"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
            },
        ),
        PersistentVolume,
    )

    assert own == PersistentVolume(
        name="x",
        storage_class="gp3",
        capacity=10 * 2**30,
        claim="prod/data-0",
        driver="ebs.csi.aws.com",
        handle="vol-1",
        node_affinity=((Expression("topology.kubernetes.io/zone", Operator.IN, ("a",)),),),
    )


@pytest.mark.parametrize("source", ["local", "hostPath"])
def test_a_volume_that_is_a_directory_lives_on_one_node(source: str) -> None:
    assert read(core("PersistentVolume", spec={source: {"path": "/data"}}), PersistentVolume).on_node


def test_a_claim_tells_the_default_class_from_none() -> None:
    default = read(core("PersistentVolumeClaim", spec={}), PersistentVolumeClaim)
    none = read(core("PersistentVolumeClaim", spec={"storageClassName": ""}), PersistentVolumeClaim)

    assert default.storage_class is None
    assert none.storage_class == ""
    assert not default.bound


def test_a_storage_class_tells_when_and_where_volumes_are_made() -> None:
    topology = {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a", "b"]}]}
    tree = core(
        "StorageClass",
        "storage.k8s.io/v1",
        provisioner="ebs.csi.aws.com",
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[topology],
    )
    tree["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}

    assert read(tree, StorageClass) == StorageClass(
        name="x",
        provisioner="ebs.csi.aws.com",
        waits_for_pod=True,
        default=True,
        allowed_topologies=((Expression("topology.kubernetes.io/zone", Operator.IN, ("a", "b")),),),
    )


@pytest.mark.parametrize(
    ("annotations", "phase", "bound", "lost"),
    [
        ({}, "Pending", False, False),
        ({"pv.kubernetes.io/bind-completed": "yes"}, "Pending", True, False),
        ({}, "Bound", True, False),
        ({"pv.kubernetes.io/bind-completed": "yes"}, "Lost", True, True),
    ],
)
def test_a_claim_tells_whether_it_is_bound(
    annotations: dict[str, str],
    phase: str,
    *,
    bound: bool,
    lost: bool,
) -> None:
    tree = core("PersistentVolumeClaim", spec={"volumeName": "v"}, status={"phase": phase})
    tree["metadata"]["annotations"] = annotations

    claim = read(tree, PersistentVolumeClaim)

    assert (claim.volume_name, claim.bound, claim.lost, claim.deleting) == ("v", bound, lost, False)


def test_volumes_and_claims_that_are_being_deleted_say_so() -> None:
    deleted = {"metadata": {"name": "x", "deletionTimestamp": "2026-05-01T12:00:00Z"}}

    assert read(core("PersistentVolumeClaim") | deleted, PersistentVolumeClaim).deleting
    assert read(core("PersistentVolume") | deleted, PersistentVolume).deleting


def test_a_disk_of_an_older_plugin_is_one_of_the_driver_that_took_over() -> None:
    tree = core("PersistentVolume", spec={"awsElasticBlockStore": {"volumeID": "aws://a/vol-1"}})

    volume = read(tree, PersistentVolume)

    assert (volume.driver, volume.handle) == ("ebs.csi.aws.com", "vol-1")


def test_a_node_tells_how_many_volumes_its_drivers_can_attach() -> None:
    drivers = [
        {"name": "ebs.csi.aws.com", "nodeID": "i-1", "allocatable": {"count": 26}},
        {"name": "efs.csi.aws.com", "nodeID": "i-1"},
        {"name": "odd.example.com", "nodeID": "i-1", "allocatable": {}},
    ]

    node = read(core("CSINode", "storage.k8s.io/v1", spec={"drivers": drivers}), CSINode)

    assert node == CSINode(name="x", limits={"ebs.csi.aws.com": 26})


def test_each_pod_of_a_stateful_set_has_claims_of_its_own() -> None:
    tree = workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}}])
    there = [
        {"name": "data", "emptyDir": {}},
        {"name": "both", "persistentVolumeClaim": {"claimName": "both"}},
    ]
    tree["spec"]["template"]["spec"]["volumes"] = there

    stateful_set = read(tree, StatefulSet)

    assert [c.key for c in stateful_set.claims_of(3)] == ["default/data-web-3"]
    assert [(v.name, v.claim_name) for v in stateful_set.template_of(3).spec.volumes] == [
        ("both", "both"),
        ("data", "data-web-3"),
    ]


def test_the_name_of_a_namespace_has_no_dots() -> None:
    assert read(core("Namespace"), Namespace) == Namespace(name="x")
    assert problem_of({**core("Namespace"), "metadata": {"name": "a.b"}}).startswith(
        "Namespace a.b: metadata.name:"
    )


def test_unknown_fields_of_kubernetes_own_kinds_are_ignored() -> None:
    assert (
        read(deployment_tree(revisionHistoryLimit=3, strategy={"type": "Recreate"}), Deployment).replicas == 1
    )
