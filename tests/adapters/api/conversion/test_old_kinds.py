from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.api.conversion.drawn import kubelets, maps, names, some, taints
from treenail.adapters.api.conversion import converted
from treenail.adapters.api.conversion.old_kinds import ROLE, node_class_of, node_class_within, node_pool_of
from treenail.adapters.api.manifests import decode, parse_manifests
from treenail.domain.model.node_classes import AmiFamily, NodeClass, NodeClassRef, SelectorTerm
from treenail.domain.model.node_pools import Budget, Generation, NodePool

Tree = dict[str, Any]
T = TypeVar("T")

flags = st.booleans()
seconds = st.integers(0, 10**7)
keys = st.sampled_from(
    [
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "karpenter.sh/capacity-type",
        "node.kubernetes.io/instance-type",
        "karpenter.k8s.aws/instance-family",
        "team",
    ]
)
KNOWN = {
    "kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "arm64",
    "karpenter.sh/capacity-type": "spot",
}


@st.composite
def requirements(draw: st.DrawFn) -> Tree:
    key = draw(keys)
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    value = str(draw(st.integers(0, 9))) if operator in ("Gt", "Lt") else KNOWN.get(key) or draw(names)
    return {"key": key, "operator": operator, "values": [value]}


selectors = st.dictionaries(
    names, st.lists(names, min_size=1, max_size=3).map(",".join), min_size=1, max_size=2
)
subnets = selectors | st.just({"aws-ids": "subnet-1, subnet-2"})
groups = selectors | st.just({"aws::ids": "sg-1"})
images = st.one_of(
    selectors,
    st.just({"aws::name": "a,b", "aws::owners": "self, amazon"}),
    st.just({"aws-ids": "ami-1,ami-2"}),
)
_said = {
    "context": names,
    "instanceProfile": names,
    "tags": maps,
    "metadataOptions": st.just({"httpTokens": "optional"}) | st.just({"httpPutResponseHopLimit": 5}),
    "blockDeviceMappings": st.just([{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi"}}]),
}
_selected = {"subnetSelector": subnets, "securityGroupSelector": groups}
families = st.sampled_from(["AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022"])
templates = some(
    {
        "apiVersion": st.just("karpenter.k8s.aws/v1alpha1"),
        "kind": st.just("AWSNodeTemplate"),
        "metadata": some({"name": names}, {"labels": maps}),
        "spec": st.one_of(
            some(
                _selected,
                {
                    **_said,
                    "amiFamily": families,
                    "amiSelector": images,
                    "userData": names,
                    "detailedMonitoring": flags,
                },
            ),
            some({**_selected, "amiFamily": st.just("Custom"), "amiSelector": images}, _said),
        ),
    },
    {},
)
providers = st.one_of(
    st.builds(lambda name: {"providerRef": {"name": name}}, names),
    some(_selected, {**_said, "amiFamily": families}).map(lambda own: {"provider": own}),
)
ends: st.SearchStrategy[Tree] = st.one_of(
    st.just({}),
    some({}, {"ttlSecondsAfterEmpty": seconds, "consolidation": st.just({"enabled": False})}),
    st.just({"consolidation": {"enabled": True}}),
)
provisioners = st.builds(
    lambda name, spec, provider, end: {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        "spec": {**spec, **provider, **end},
    },
    names,
    some(
        {},
        {
            "labels": maps,
            "annotations": maps,
            "taints": taints,
            "requirements": st.lists(requirements(), max_size=4),
            "kubeletConfiguration": kubelets,
            "limits": st.just({}) | st.just({"resources": {"cpu": "10", "memory": "1Gi"}}),
            "weight": st.integers(1, 100),
            "ttlSecondsUntilExpired": seconds,
        },
    ),
    providers,
    ends,
)


def read(tree: Tree, kind: type[T]) -> T:
    """The one object of `kind` that a manifest stands for."""
    (manifest,) = parse_manifests(json.dumps(tree).encode(), "x")
    (found,) = (one for one in decode(manifest) if isinstance(one, kind))
    return found


def of_v1(own: NodePool, ref: NodeClassRef, *, kubelet: bool) -> NodePool:
    """What must become of a pool of the old API, that says something of its `kubelet` or does not."""
    return replace(
        own,
        generation=Generation.V1,
        node_class=ref,
        kubelet=own.kubelet if kubelet else None,
        disruption=replace(own.disruption, budgets=(Budget(percent=100),)),
        limits=own.limits or None,
        not_acted_on=(),
    )


def in_ec2(own: NodeClass) -> NodeClass:
    """What must become of a node class of the old API."""
    latest = (
        ()
        if own.ami_family is AmiFamily.UBUNTU
        else (SelectorTerm(alias=f"{own.ami_family.lower()}@latest"),)
    )
    return replace(
        own,
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", own.ref.name),
        ami_terms=own.ami_terms or latest,
        role="" if own.instance_profile else ROLE,
    )


@given(provisioners)
def test_a_provisioner_means_what_its_pool_and_class_mean(tree: Tree) -> None:
    own = read(tree, NodePool)
    ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", own.node_class.name)

    made = node_pool_of(tree)
    for one in (made, converted(made, "v1")):
        after = read(one, NodePool)
        end = of_v1(own, ref, kubelet=bool(tree["spec"].get("kubeletConfiguration")))
        assert replace(after, not_acted_on=()) == end

    within = node_class_within(tree)
    assert (within is not None) == ("provider" in tree["spec"])
    if within is not None:
        assert (
            read(within, NodeClass)
            == read(converted(within, "v1"), NodeClass)
            == in_ec2(read(tree, NodeClass))
        )


@given(templates)
def test_a_node_template_means_what_its_class_means(tree: Tree) -> None:
    made = node_class_of(tree)

    assert read(made, NodeClass) == read(converted(made, "v1"), NodeClass) == in_ec2(read(tree, NodeClass))
