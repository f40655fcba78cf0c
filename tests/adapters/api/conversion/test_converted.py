from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from treenail.adapters.api.conversion import KUBELET, NODE_CLASS_REFERENCE, UBUNTU, ConversionError, converted

Tree = dict[str, Any]


def of(text: str) -> Tree:
    made: Tree = yaml.safe_load(text)
    return made


def pool_of_v1beta1(disruption: str = "{}", template: str = "") -> Tree:
    return of(f"""
        apiVersion: karpenter.sh/v1beta1
        kind: NodePool
        metadata: {{name: default}}
        spec:
          disruption: {disruption}
          template:
            spec: {{requirements: [], nodeClassRef: {{name: a}}, {template}}}
    """)


def pool_of_v1(disruption: str = "{}", template: str = "", spec: str = "") -> Tree:
    ref = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}"
    made = of(f"""
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata: {{name: default}}
        spec:
          disruption: {disruption}
          template:
            spec: {{{ref}, {template}}}
    """)
    made["spec"] |= of(spec) if spec else {}
    made["spec"]["template"]["spec"].setdefault("requirements", [])
    return made


def class_of_v1beta1(spec: str) -> Tree:
    return {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": of(spec),
    }


def class_of_v1(spec: str) -> Tree:
    return class_of_v1beta1(spec) | {"apiVersion": "karpenter.k8s.aws/v1"}


def test_a_pool_of_v1beta1_becomes_what_karpenter_makes_of_it() -> None:
    made = converted(
        pool_of_v1beta1(
            "{consolidationPolicy: WhenUnderutilized, expireAfter: 360h}", "kubelet: {maxPods: 20}"
        ),
        "v1",
    )

    assert made["apiVersion"] == "karpenter.sh/v1"
    assert made["metadata"]["annotations"] == {
        KUBELET: '{"maxPods":20}',
        NODE_CLASS_REFERENCE: '{"name":"a"}',
    }
    assert made["spec"]["disruption"] == {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "0s",
    }
    assert made["spec"]["template"]["spec"] == {
        "requirements": [],
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"},
        "expireAfter": "360h",
    }


def test_settings_that_are_null_are_none() -> None:
    made = converted(pool_of_v1beta1(template="kubelet: null"), "v1")

    assert KUBELET not in made["metadata"]["annotations"]


def test_consolidation_that_never_comes_stays_so() -> None:
    disruption = "{consolidationPolicy: WhenUnderutilized, consolidateAfter: Never}"

    made = converted(pool_of_v1beta1(disruption), "v1")

    assert made["spec"]["disruption"]["consolidateAfter"] == "Never"


def test_a_pool_that_karpenter_stored_as_v1_is_what_it_was_in_v1beta1() -> None:
    stored = pool_of_v1(
        "{consolidationPolicy: WhenEmpty, consolidateAfter: 30s, budgets: [{nodes: 10%}]}",
        "expireAfter: 720h",
    )
    stored["metadata"]["annotations"] = {
        KUBELET: '{"maxPods": 20, "cpuCFSQuota": true}',
        NODE_CLASS_REFERENCE: '{"kind":"EC2NodeClass","name":"a","apiVersion":"karpenter.k8s.aws/v1beta1"}',
    }

    made = converted(stored, "v1beta1")

    assert "annotations" not in made["metadata"]
    assert made["spec"]["disruption"] == {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "30s",
        "budgets": [{"nodes": "10%"}],
        "expireAfter": "720h",
    }
    assert made["spec"]["template"]["spec"]["kubelet"] == {"maxPods": 20, "cpuCFSQuota": True}


def test_a_reference_changed_in_v1_is_not_what_the_annotation_says() -> None:
    made = converted(pool_of_v1beta1(), "v1")
    made["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "b"

    assert converted(made, "v1beta1")["spec"]["template"]["spec"]["nodeClassRef"] == {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "name": "b",
    }


def test_bounds_that_v1beta1_does_not_know_are_written_as_those_it_knows() -> None:
    template = """requirements: [
        {key: a, operator: Gte, values: ["3"]},
        {key: b, operator: Lte, values: ["3"]},
        {key: c, operator: Gte, values: ["0"]}]"""

    made = converted(pool_of_v1(template=template), "v1beta1")

    assert made["spec"]["template"]["spec"]["requirements"] == [
        {"key": "a", "operator": "Gt", "values": ["2"]},
        {"key": "b", "operator": "Lt", "values": ["4"]},
        {"key": "c", "operator": "Exists"},
    ]


BUDGETS = "{budgets: [{nodes: '0', reasons: [Drifted]}, {nodes: '0'}, {nodes: '5'}]}"


def test_what_only_v1_can_say_of_a_budget_stays_with_it_when_another_comes_before() -> None:
    made = converted(pool_of_v1(BUDGETS), "v1beta1")
    made["spec"]["disruption"]["budgets"].insert(0, {"nodes": "10%"})

    assert converted(made, "v1")["spec"]["disruption"]["budgets"] == [
        {"nodes": "10%"},
        {"nodes": "0", "reasons": ["Drifted"]},
        {"nodes": "0"},
        {"nodes": "5"},
    ]


def test_a_budget_changed_in_v1beta1_means_what_is_written_there() -> None:
    made = converted(pool_of_v1(BUDGETS), "v1beta1")
    made["spec"]["disruption"]["budgets"] = [{"nodes": "7"}]

    assert converted(made, "v1")["spec"]["disruption"]["budgets"] == [{"nodes": "7"}]


def test_what_nobody_changed_in_v1beta1_is_in_v1_as_it_was() -> None:
    before = pool_of_v1("{consolidationPolicy: Balanced, consolidateAfter: 5m}", "", "{replicas: 3}")
    made = converted(before, "v1beta1")
    made["spec"]["limits"] = {"nodes": 5}
    made["metadata"]["labels"] = {"a": "b"}

    after = converted(made, "v1")

    assert after["spec"] == before["spec"] | {"limits": {"nodes": 5}}
    assert after["metadata"] == {"name": "default", "labels": {"a": "b"}}


def test_a_policy_changed_in_v1beta1_is_changed_in_v1() -> None:
    made = converted(pool_of_v1("{consolidationPolicy: Balanced, consolidateAfter: 5m}"), "v1beta1")
    made["spec"]["disruption"] = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}

    assert converted(made, "v1")["spec"]["disruption"] == {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "30s",
    }


def test_a_family_without_terms_becomes_the_alias_of_its_latest_image() -> None:
    made = converted(class_of_v1beta1("{amiFamily: AL2023, role: r}"), "v1")

    assert made["spec"] == {
        "role": "r",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "metadataOptions": {"httpPutResponseHopLimit": 2},
    }


def test_a_pinned_alias_is_kept_while_the_family_stays() -> None:
    made = converted(class_of_v1("{amiSelectorTerms: [{alias: al2023@v20240807}]}"), "v1beta1")
    assert made["spec"]["amiFamily"] == "AL2023"
    other = deepcopy(made)
    other["spec"]["amiFamily"] = "Bottlerocket"

    assert converted(made, "v1")["spec"]["amiSelectorTerms"] == [{"alias": "al2023@v20240807"}]
    assert converted(other, "v1")["spec"]["amiSelectorTerms"] == [{"alias": "bottlerocket@latest"}]


def test_ubuntu_becomes_what_karpenter_makes_of_it() -> None:
    made = converted(class_of_v1beta1("{amiFamily: Ubuntu}"), "v1")

    assert made["metadata"]["annotations"][UBUNTU] == "amiFamily,blockDeviceMappings,incompatible"
    assert made["spec"]["amiFamily"] == "AL2"
    assert made["spec"]["amiSelectorTerms"] == [{"id": "ami-placeholder"}]
    assert made["spec"]["blockDeviceMappings"] == [
        {
            "deviceName": "/dev/sda1",
            "rootVolume": True,
            "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
        }
    ]


def test_what_stood_for_ubuntu_and_was_given_another_family_is_ubuntu_no_more() -> None:
    made = converted(class_of_v1beta1("{amiFamily: Ubuntu, amiSelectorTerms: [{id: ami-1}]}"), "v1")
    made["spec"]["amiFamily"] = "AL2023"

    after = converted(made, "v1beta1")

    assert after["spec"]["amiFamily"] == "AL2023"
    assert UBUNTU not in after["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"kind": "Pod", "metadata": {"name": "p"}}, 'Pod p: kind: "Pod" is none of EC2NodeClass, '),
        ({"kind": "NodePool", "apiVersion": "v1"}, 'NodePool: apiVersion: "v1" is neither of '),
        (pool_of_v1beta1() | {"spec": []}, "NodePool default: spec: must be a mapping"),
        (pool_of_v1beta1("[]"), "NodePool default: spec.disruption: must be a mapping"),
        (
            pool_of_v1(template="requirements: [{key: a, operator: Gte, values: [x]}]"),
            "NodePool default: spec.template.spec.requirements[0].values: Gte needs exactly one whole number",
        ),
        (pool_of_v1() | {"metadata": {"name": "a", "annotations": {KUBELET: "{"}}}, "is not JSON"),
        (
            pool_of_v1() | {"metadata": {"name": "a", "annotations": {KUBELET: "[]"}}},
            "must be a mapping in JSON",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused_by_object_and_field(tree: Tree, problem: str) -> None:
    to = "v1" if str(tree.get("apiVersion")).endswith("v1beta1") else "v1beta1"

    with pytest.raises(ConversionError) as refused:
        converted(tree, to)

    assert problem in str(refused.value)


def test_notes_that_are_not_ours_are_refused() -> None:
    tree = pool_of_v1beta1()
    tree["metadata"]["annotations"] = {"treenail.sh/v1-fields": '[{"at": "spec"}]'}

    with pytest.raises(ConversionError, match=r"metadata.annotations\[treenail.sh/v1-fields\]"):
        converted(tree, "v1")


def test_there_are_two_versions_only() -> None:
    with pytest.raises(ConversionError, match="there is no version"):
        converted(pool_of_v1(), "v2")
