from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import (
    problem_of,
    provisioner_tree,
)


def requiring(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"requirements": [{"key": key, "operator": operator, "values": list(values)}]}


def tainted(key: str, effect: str, value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


WITH_PROVIDER = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}

PROVISIONERS = {
    "unknown operator": (
        provisioner_tree(**requiring("team", "Inn", "a")),
        (
            'spec.requirements[0].operator: "Inn" is not one of DoesNotExist, Exists, Gt, In, Lt, NotIn;'
            " did you mean In?"
        ),
    ),
    "operator of a later version": (
        provisioner_tree(**requiring("karpenter.k8s.aws/instance-cpu", "Gte", "2")),
        (
            'spec.requirements[0].operator: "Gte" is not one of DoesNotExist, Exists, Gt, In, Lt, NotIn;'
            " did you mean Gt?"
        ),
    ),
    "negative limit": (
        provisioner_tree(limits={"resources": {"cpu": "-5"}}),
        'spec.limits.resources.cpu: "-5" must not be negative',
    ),
    "quantity that is none": (
        provisioner_tree(limits={"resources": {"cpu": "many"}}),
        'spec.limits.resources.cpu: "many" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "absurd limit": (
        provisioner_tree(limits={"resources": {"cpu": "1e30"}}),
        'spec.limits.resources.cpu: "1e30" is larger than any quantity Kubernetes can hold',
    ),
    "limit with a fraction": (
        provisioner_tree(limits={"resources": {"cpu": 1.5}}),
        "spec.limits.resources.cpu: expected text or a whole number, got the number 1.5 (put it in quotes)",
    ),
    "text where a list belongs": (
        provisioner_tree(requirements="spot"),
        'spec.requirements: expected a list, got text "spot"',
    ),
    "number where text belongs": (
        provisioner_tree(labels={"team": 5}),
        "spec.labels.team: expected text, got the number 5 (put it in quotes)",
    ),
    "unknown field": (
        provisioner_tree(ttlSecondsAfterEmtpy=30),
        "spec.ttlSecondsAfterEmtpy: is not a known field; did you mean ttlSecondsAfterEmpty?",
    ),
    "unknown field of the provider": (
        {**provisioner_tree(), "spec": {"provider": {**WITH_PROVIDER, "instanceProfil": "x"}}},
        "spec.provider.instanceProfil: is not a known field; did you mean instanceProfile?",
    ),
    "bad taint effect": (
        provisioner_tree(taints=[tainted("team", "NoScheduling")]),
        (
            'spec.taints[0].effect: "NoScheduling" is not one of NoSchedule, PreferNoSchedule, NoExecute;'
            " did you mean NoSchedule?"
        ),
    ),
    "one taint twice": (
        provisioner_tree(
            taints=[tainted("a", "NoSchedule")], startupTaints=[tainted("a", "NoSchedule", "x")]
        ),
        "spec.startupTaints[0]: a with NoSchedule is there twice",
    ),
    "negative time": (
        provisioner_tree(ttlSecondsAfterEmpty=-1),
        "spec.ttlSecondsAfterEmpty: -1 must not be negative",
    ),
    "absurd time": (
        provisioner_tree(ttlSecondsUntilExpired=10**18),
        "spec.ttlSecondsUntilExpired: 1000000000000000000 is more than 292 years",
    ),
    "bad label key": (
        provisioner_tree(labels={"team!": "x"}),
        'spec.labels: "team!" is not a label key (such as team or example.com/team)',
    ),
    "bad label value": (
        provisioner_tree(labels={"team": "x y"}),
        "spec.labels.team: \"x y\" is not a label value (at most 63 letters, digits, '-', '_' and '.')",
    ),
    "weight out of range": (
        provisioner_tree(weight=500),
        "spec.weight: 500 is not between 1 and 100",
    ),
    "both providers": (
        provisioner_tree(provider=WITH_PROVIDER),
        "spec.providerRef: cannot stand beside spec.provider",
    ),
    "no provider": ({**provisioner_tree(), "spec": {}}, "spec: needs providerRef, or provider"),
    "label of karpenter.sh": (
        provisioner_tree(labels={"karpenter.sh/team": "x"}),
        (
            'spec.labels[karpenter.sh/team]: "karpenter.sh/team" is restricted:'
            " labels of karpenter.sh are not for users"
        ),
    ),
    "label of Kubernetes": (
        provisioner_tree(labels={"kubernetes.io/team": "x"}),
        (
            'spec.labels[kubernetes.io/team]: "kubernetes.io/team" is restricted:'
            " labels of kubernetes.io are not for users"
        ),
    ),
    "requirement of the hostname": (
        provisioner_tree(**requiring("kubernetes.io/hostname", "In", "a")),
        (
            'spec.requirements[0].key: "kubernetes.io/hostname" is restricted:'
            " it is given to every node by itself"
        ),
    ),
    "unknown label of AWS": (
        provisioner_tree(**requiring("karpenter.k8s.aws/instance-categry", "In", "c")),
        (
            'spec.requirements[0].key: "karpenter.k8s.aws/instance-categry" is no label of karpenter.k8s.aws;'
            " did you mean karpenter.k8s.aws/instance-category?"
        ),
    ),
    "bound that is no number": (
        provisioner_tree(**requiring("karpenter.k8s.aws/instance-cpu", "Gt", "two")),
        'spec.requirements[0].values: Gt needs exactly one whole number, not ["two"]',
    ),
    "negative bound": (
        provisioner_tree(**requiring("karpenter.k8s.aws/instance-cpu", "Lt", "-2")),
        "spec.requirements[0].values: Lt -2 must not be negative",
    ),
    "nothing listed": (
        provisioner_tree(**requiring("team", "In")),
        "spec.requirements[0].values: In needs at least one value",
    ),
    "emptiness beside consolidation": (
        provisioner_tree(ttlSecondsAfterEmpty=30, consolidation={"enabled": True}),
        "spec.ttlSecondsAfterEmpty: cannot stand beside spec.consolidation.enabled",
    ),
    "missing node template": (
        provisioner_tree(),
        "spec.providerRef: there is no AWSNodeTemplate default",
    ),
    "unknown version": (
        {**provisioner_tree(), "apiVersion": "karpenter.sh/v1alpha6"},
        'apiVersion: "karpenter.sh/v1alpha6" is not known for Provisioner; known is karpenter.sh/v1alpha5',
    ),
    "no version": (
        {"kind": "Provisioner", "metadata": {"name": "default"}},
        "apiVersion: is missing, or no text; Provisioner is of karpenter.sh/v1alpha5",
    ),
}


@pytest.mark.parametrize("case", sorted(PROVISIONERS))
def test_a_bad_provisioner_is_refused_in_one_line_with_field_and_problem(case: str) -> None:
    tree, line = PROVISIONERS[case]

    assert problem_of(tree) == f"Provisioner default: {line}"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, "Provisioner (number 1): metadata.name: is missing"),
        (
            {"name": 5},
            "Provisioner (number 1): metadata.name: expected text, got the number 5 (put it in quotes)",
        ),
        (
            {"name": "Bad_Name"},
            (
                'Provisioner Bad_Name: metadata.name: "Bad_Name" is not a DNS name'
                " (lower-case letters, digits, '-' and '.')"
            ),
        ),
        (
            {"name": "a", "lables": {}},
            "Provisioner a: metadata.lables: is not a known field; did you mean labels?",
        ),
        (
            {"name": "a", "resourceVersion": "new"},
            'Provisioner a: metadata.resourceVersion: "new" is not a number',
        ),
    ],
)
def test_an_object_must_be_named_as_kubernetes_demands(metadata: dict[str, Any], expected: str) -> None:
    assert problem_of({**provisioner_tree(), "metadata": metadata}) == expected
