from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.api.builders import problem_of, read
from tests.adapters.cli.command import treenail
from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.domain.model.node_classes import AmiFamily, NodeClass, NodeClassRef, SelectorTerm
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.resources import Resources

Tree = dict[str, Any]

BETA = Path(__file__).parents[3] / "examples/004-beta.yaml"
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: pause, resources: {requests: {cpu: "1"}}}]}
"""


def pool(disruption: Tree | None = None, **template: Any) -> Tree:
    spec = {"requirements": [], "nodeClassRef": {"name": "default"}, **template}
    more = {} if disruption is None else {"disruption": disruption}
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": spec}, **more},
    }


def claim(**spec: Any) -> Tree:
    return pool() | {
        "kind": "NodeClaim",
        "spec": {"requirements": [], "nodeClassRef": {"name": "default"}, **spec},
    }


def node_class(**spec: Any) -> Tree:
    own = {
        "amiFamily": "AL2",
        "role": "node",
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
        **spec,
    }
    return {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {key: value for key, value in own.items() if value is not None},
    }


def asking(operator: str, *values: str, key: str = "a") -> Tree:
    return pool(requirements=[{"key": key, "operator": operator, "values": list(values)}])


def test_a_pool_that_says_little_means_what_it_is_documented_to() -> None:
    own = read(pool(), NodePool)

    assert own.node_class == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    assert own.disruption.consolidate_after == timedelta(0)
    assert own.disruption.expire_after == timedelta(hours=720)
    assert own.disruption.policy is ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
    assert own.disruption.budgets == (Budget(percent=10),)
    assert own.kubelet is None


def test_a_pool_has_the_kubelets_settings_of_its_nodes() -> None:
    own = read(pool(kubelet={"maxPods": 20, "systemReserved": {"cpu": "100m"}}), NodePool)

    assert own.kubelet is not None
    assert own.kubelet.max_pods == 20
    assert own.kubelet.system_reserved == Resources({"cpu": 100})


def test_empty_nodes_go_after_a_while_or_never() -> None:
    after = read(pool({"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}), NodePool)
    never = read(pool({"consolidateAfter": "Never", "expireAfter": "Never"}), NodePool)

    assert after.disruption.consolidate_after == timedelta(seconds=30)
    assert after.disruption.policy is ConsolidationPolicy.WHEN_EMPTY
    assert (never.disruption.consolidate_after, never.disruption.expire_after) == (None, None)


def test_a_claim_is_read() -> None:
    own = read(claim(resources={"requests": {"cpu": "1"}}), NodeClaim)

    assert own.node_class == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    assert own.requests == Resources({"cpu": 1000})


def test_a_class_without_terms_means_the_latest_image_of_its_family_and_two_hops() -> None:
    own = read(node_class(), NodeClass)

    assert own.ami_terms == (SelectorTerm(alias="al2@latest"),)
    assert own.metadata_options.http_put_response_hop_limit == 2


def test_a_class_may_be_of_ubuntu() -> None:
    own = read(node_class(amiFamily="Ubuntu"), NodeClass)

    assert (own.ami_family, own.ami_terms, own.block_devices) == (AmiFamily.UBUNTU, (), ())


def test_the_walkthrough_of_v1beta1_is_understood_as_it_stands() -> None:
    decoded = decode_all(read_manifests([BETA]))

    (own,), (of_ec2,) = decoded.node_pools, decoded.node_classes
    assert own.node_class == of_ec2.ref
    assert own.labels == {"team": "team-a", "custom-label": "custom-value"}
    assert own.kubelet is not None
    assert own.kubelet.max_pods == 20
    assert own.disruption.expire_after == timedelta(hours=360)
    assert of_ec2.ami_family is AmiFamily.BOTTLEROCKET
    assert of_ec2.ami_terms == (
        SelectorTerm(name="my-name1", owner="123456789"),
        SelectorTerm(name="my-name2", owner="amazon"),
    )
    assert len(of_ec2.security_group_terms) == 2


@pytest.mark.parametrize("command", ["simulate", "rehearse"])
def test_the_walkthrough_of_v1beta1_buys_a_node(command: str, tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(PODS)

    ran = treenail(command, "-f", str(BETA), "-f", str(pods))

    assert ran.code == 0, ran.err
    assert "refused=0" in ran.out or "1 pod, 1 node to buy" in ran.out


_SPEC = "spec.template.spec"


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        (asking("Gte", "1"), f"{_SPEC}.requirements[0].operator: "),
        (asking("In"), f"{_SPEC}.requirements[0].values: In needs at least one value"),
        (asking("Exists", key="kubernetes.io/x"), f"{_SPEC}.requirements[0].key: "),
        (pool(nodeClassRef={"name": "a", "kind": "Pod"}), f"{_SPEC}.nodeClassRef: "),
        (pool(nodeClassRef={"name": "a", "group": "karpenter.k8s.aws"}), f"{_SPEC}.nodeClassRef.group: "),
        (pool(expireAfter="1h"), f"{_SPEC}.expireAfter: "),
        (pool(terminationGracePeriod="1h"), f"{_SPEC}.terminationGracePeriod: "),
        (pool(resources={"requests": {}}), f"{_SPEC}.resources.requests: "),
        (pool(kubelet={"maxPods": -1}), f"{_SPEC}.kubelet.maxPods: "),
        (pool(kubelet={"evictionSoft": {"memory.available": "1Gi"}}), f"{_SPEC}.kubelet.evictionSoft: "),
        (pool({"consolidationPolicy": "WhenEmpty"}), "spec.disruption.consolidateAfter: is missing"),
        (pool({"consolidateAfter": "30s"}), "spec.disruption.consolidateAfter: may only be Never"),
        (pool({"consolidationPolicy": "Balanced"}), "spec.disruption.consolidationPolicy: "),
        (pool({"budgets": [{"reasons": ["Drifted"]}]}), "spec.disruption.budgets[0].reasons: "),
        (claim(kubelet={"podsPerCore": -1}), "spec.kubelet.podsPerCore: "),
        (claim(expireAfter="1h"), "spec.expireAfter: "),
        (node_class(amiFamily=None), "spec.amiFamily: is missing"),
        (node_class(amiFamily="Windows2025"), "spec.amiFamily: "),
        (node_class(amiFamily="Custom"), "spec.amiSelectorTerms: is missing"),
        (node_class(amiSelectorTerms=[{"alias": "al2@latest"}]), "spec.amiSelectorTerms[0].alias: "),
        (node_class(amiSelectorTerms=[{"id": "ami-1", "name": "a"}]), "spec.amiSelectorTerms[0].id: "),
        (node_class(role=None), "spec: needs exactly one of role and instanceProfile"),
        (node_class(instanceProfile="a"), "spec: needs exactly one of role and instanceProfile"),
        (node_class(tags={"karpenter.sh/managed-by": "me"}), "spec.tags: "),
        (node_class(kubelet={}), "spec.kubelet: "),
    ],
)
def test_what_v1beta1_does_not_allow_is_refused_by_its_field(tree: Tree, problem: str) -> None:
    assert problem_of(tree).startswith(f"{tree['kind']} default: {problem}")
