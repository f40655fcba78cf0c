from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.domain.model.node_classes import AmiFamily, SelectorTerm
from treenail.domain.model.resources import Resources

EXAMPLES = Path(__file__).parents[3] / "examples"
OLD = sorted(path.name for path in EXAMPLES.glob("00[013]-*.yaml"))


@pytest.mark.parametrize("name", OLD)
def test_every_walkthrough_of_the_old_api_is_accepted_as_it_is(name: str) -> None:
    decoded = decode_all(read_manifests([EXAMPLES / name]))

    assert decoded.node_pools
    assert decoded.deployments
    assert len(decoded.node_classes) == len(decoded.node_pools)
    assert decoded.warnings == ()


def test_there_are_walkthroughs() -> None:
    assert OLD == [
        "000-multi-provisioner.yaml",
        "000-weight.yaml",
        "001-inflate.yaml",
        "001-node-selector.yaml",
        "003-windows.yaml",
    ]


def test_the_first_walkthrough_is_a_pool_with_its_provider_and_five_pods() -> None:
    decoded = decode_all(read_manifests([EXAMPLES / "001-inflate.yaml"]))

    (pool,) = decoded.node_pools
    (node_class,) = decoded.node_classes
    (deployment,) = decoded.deployments
    assert pool.limits == Resources({"cpu": 1_000_000})
    assert pool.disruption.consolidate_after == timedelta(seconds=30)
    assert pool.node_class == node_class.ref
    assert node_class.instance_profile == "KarpenterNodeInstanceProfile-demo"
    assert node_class.subnet_terms == (SelectorTerm(tags=(("kubernetes.io/cluster/demo", "*"),)),)
    assert deployment.replicas == 5
    assert deployment.template.spec.requests == Resources({"cpu": 1000, "pods": 1})
    assert deployment.template.spec.grace_seconds == 0


def test_the_windows_walkthrough_has_a_release_for_each_pool() -> None:
    decoded = decode_all(read_manifests([EXAMPLES / "003-windows.yaml"]))

    assert [c.ami_family for c in decoded.node_classes] == [AmiFamily.WINDOWS2019, AmiFamily.WINDOWS2022]
    assert {c.metadata_options.http_put_response_hop_limit for c in decoded.node_classes} == {2}
