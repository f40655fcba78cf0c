from __future__ import annotations

from dataclasses import replace

from tests.builders import node_pool
from treenail.domain.model.node_pools import Generation, heaviest_first


def test_the_heaviest_pool_is_tried_first_and_of_equals_the_last_by_name() -> None:
    pools = [node_pool("b"), node_pool("a"), replace(node_pool("m"), weight=5)]

    assert [pool.name for pool in heaviest_first(pools)] == ["m", "b", "a"]


def test_a_node_of_a_pool_says_its_pool_and_its_class() -> None:
    pool = replace(node_pool("web"), labels={"team": "a"})

    assert pool.node_labels == {
        "team": "a",
        "karpenter.sh/nodepool": "web",
        "karpenter.k8s.aws/ec2nodeclass": "default",
    }


def test_a_node_of_the_old_generation_says_its_provisioner_alone() -> None:
    pool = replace(node_pool("web"), generation=Generation.V1ALPHA5)

    assert pool.node_labels == {"karpenter.sh/provisioner-name": "web"}
