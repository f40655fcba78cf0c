from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import claim, node_class, node_pool
from treenail.domain.model.node_classes import (
    AmiFamily,
    BlockDevice,
    ConnectionTracking,
    Kubelet,
    MetadataOptions,
    NetworkInterface,
    NodeClass,
    NodeClassRef,
    SelectorTerm,
)
from treenail.domain.model.node_pools import Disruption, Generation
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.model.template_hash import (
    HASH_VERSION,
    SIZED_BY,
    node_class_hash,
    pool_hash,
    sizing_hash,
    stamped,
)

POOL = node_pool()
CLASS = node_class()
HASH = node_class_hash(CLASS)
SELECTORS = {"ami_terms", "subnet_terms", "security_group_terms", "reservation_terms"}
# Only AWSNodeTemplates name a launch template, and they bear no hash.
NOT_HASHED = SELECTORS | {"ip_prefix_count", "launch_template"}
NOT_HASHED |= {"ref", "uid", "resource_version", "generation", "deleting", "finalizers"}
UNLIKE: dict[str, object] = {
    "ref": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "other"),
    "ami_family": AmiFamily.BOTTLEROCKET,
    "tags": {"other": "tag"},
    "block_devices": (BlockDevice(device_name="/dev/xvdz"),),
    "metadata_options": MetadataOptions(http_tokens="optional"),
    "kubelet": Kubelet(max_pods=20),
    "associate_public_ip": True,
    "network_interfaces": (NetworkInterface(card=0, device=0),),
    "connection_tracking": ConnectionTracking(udp_timeout=30),
    "placement_group": SelectorTerm(name="other"),
    "finalizers": ("other",),
}
ONE = Taint(key="a", effect=Effect.NO_SCHEDULE)
TWO = Taint(key="b", effect=Effect.NO_EXECUTE)


@pytest.mark.parametrize(
    "changed",
    [
        replace(POOL, labels={"team": "b"}),
        replace(POOL, annotations={"note": "b"}),
        replace(POOL, taints=(ONE,)),
        replace(POOL, startup_taints=(ONE,)),
        replace(POOL, kubelet=Kubelet(max_pods=20)),
        replace(POOL, termination_grace_period=timedelta(hours=1)),
        replace(POOL, disruption=Disruption(expire_after=timedelta(hours=1))),
        replace(POOL, node_class=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "other")),
    ],
)
def test_what_nodes_are_made_like_changes_a_pools_hash(changed: object) -> None:
    assert pool_hash(changed) != pool_hash(POOL)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        replace(POOL, weight=7, resource_version=9, uid="another"),
        replace(POOL, limits=Resources.parse({"cpu": 10})),
        replace(POOL, requirements=Requirements((Requirement("a", frozenset({"b"})),))),
        replace(POOL, disruption=replace(POOL.disruption, consolidate_after=timedelta(seconds=7))),
    ],
)
def test_what_is_chosen_or_given_back_does_not(changed: object) -> None:
    assert pool_hash(changed) == pool_hash(POOL)  # type: ignore[arg-type]


def test_the_order_of_taints_does_not_matter() -> None:
    assert pool_hash(replace(POOL, taints=(ONE, TWO))) == pool_hash(replace(POOL, taints=(TWO, ONE)))


def test_a_provisioners_time_to_live_is_no_part_of_what_its_machines_are_like() -> None:
    old = replace(POOL, generation=Generation.V1ALPHA5)

    assert pool_hash(replace(old, disruption=Disruption(expire_after=timedelta(1)))) == pool_hash(old)


def test_the_hash_of_a_node_class_misses_its_selectors_its_prefixes_and_what_is_no_specification() -> None:
    unlike = {field.name: other(field.name) for field in fields(NodeClass)}

    changing = {name for name, value in unlike.items() if node_class_hash(changed(name, value)) != HASH}

    assert changing == set(unlike) - NOT_HASHED


def other(name: str) -> object:
    """What a field of the node class does not say as it is."""
    said = getattr(CLASS, name)
    if name in UNLIKE:
        assert UNLIKE[name] != said
        return UNLIKE[name]
    match said:
        case bool():
            return not said
        case int():
            return said + 1
        case str():
            return f"{said}-other"
        case tuple():
            return (*said, SelectorTerm(id="other"))
        case _:
            raise AssertionError(f"what else could {name} be?")


def changed(name: str, value: object) -> NodeClass:
    return replace(CLASS, **{name: value})  # type: ignore[arg-type]


def test_a_new_claim_bears_both_hashes_and_their_version() -> None:
    made = stamped(claim("c1"), POOL, CLASS)

    assert {k: v for k, v in made.annotations.items() if "hash" in k} == {
        "karpenter.sh/nodepool-hash": pool_hash(POOL),
        "karpenter.sh/nodepool-hash-version": HASH_VERSION,
        "karpenter.k8s.aws/ec2nodeclass-hash": node_class_hash(CLASS),
        "karpenter.k8s.aws/ec2nodeclass-hash-version": HASH_VERSION,
    }


def test_a_new_claim_tells_what_sizes_its_node() -> None:
    of_pool = Kubelet(max_pods=20)

    by_class = stamped(claim("c1"), POOL, CLASS).annotations[SIZED_BY]
    by_pool = stamped(claim("c1"), replace(POOL, kubelet=of_pool), CLASS).annotations[SIZED_BY]

    assert by_class == sizing_hash(CLASS, CLASS.kubelet)
    assert by_pool == sizing_hash(CLASS, of_pool) != by_class


def test_what_may_size_a_node_is_all_that_its_class_says_but_its_selectors() -> None:
    unlike = {field.name: other(field.name) for field in fields(NodeClass)}
    size = sizing_hash(CLASS, CLASS.kubelet)

    changing = {n for n, value in unlike.items() if sizing_hash(changed(n, value), CLASS.kubelet) != size}

    # Its kubelet is that of the pool, where the pool has one.
    assert changing == set(unlike) - NOT_HASHED - {"kubelet"} | {"ip_prefix_count", "launch_template"}


def test_a_new_machine_bears_the_hash_of_its_provisioner() -> None:
    old = replace(POOL, generation=Generation.V1ALPHA5)
    template = replace(CLASS, ref=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default"))

    made = stamped(claim("c1"), old, template)

    assert {k: v for k, v in made.annotations.items() if "hash" in k} == {
        "karpenter.sh/provisioner-hash": pool_hash(old),
        "karpenter.sh/provisioner-hash-version": HASH_VERSION,
    }


def test_hashes_are_the_same_in_every_process() -> None:
    code = (
        "from tests.builders import node_class, node_pool; "
        "from treenail.domain.model.template_hash import node_class_hash, pool_hash; "
        "print(pool_hash(node_pool()), node_class_hash(node_class()))"
    )
    root = Path(__file__).resolve().parents[3]
    said = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": f"{root / '.dev'}:{root}", "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }

    assert len(said) == 1
