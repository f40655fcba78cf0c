from __future__ import annotations

from typing import Any

import pytest

from tests.fuzz.check.faults import Kind
from tests.fuzz.manifests import HOSTNAME, ZONE, Manifest, need
from tests.fuzz.situations import A, B, C, claim, decision, kinds, machine, pool, running, waiting

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def volume(name: str, *zones: str, **more: Any) -> Manifest:
    terms = [{"matchExpressions": [need(ZONE, "In", zone), *more.get("lines", ())]} for zone in zones]
    kind = more.get("kind", {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": name}})
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": {**kind, **affinity}}


def storage_class(name: str, mode: str = "WaitForFirstConsumer", *zones: str) -> Manifest:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/aws-ebs",
        "volumeBindingMode": mode,
        "allowedTopologies": topologies,
    }


def volume_claim(name: str, *, bound: bool = True, phase: str = "Bound", **spec: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", "annotations": BOUND if bound else {}}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def using(*names: str) -> list[Manifest]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


def test_pods_are_where_their_volumes_are() -> None:
    items = [
        pool(),
        volume("pv", A),
        volume_claim("data", volumeName="pv"),
        waiting("a", volumes=using("data")),
    ]

    assert kinds(items, decision(claim("a", zone=A))) == set()
    assert kinds(items, decision(claim("a", zone=B))) == {Kind.VOLUME}
    assert kinds(items, decision(claim("a"))) == {Kind.VOLUME}
    assert kinds([*items, machine("node", B)], decision(existing={"node": ["a"]})) == {Kind.VOLUME}


def test_one_place_of_several_will_do_for_each_volume() -> None:
    volumes = [volume("one", A, B), volume("two", B, C)]
    claims = [volume_claim("one", volumeName="one"), volume_claim("two", volumeName="two")]
    items = [pool(), *volumes, *claims, waiting("a", volumes=using("one", "two"))]

    assert kinds(items, decision(claim("a", zone=B))) == set()
    assert kinds(items, decision(claim("a", zone=A))) == {Kind.VOLUME}


def test_a_volume_to_come_is_where_its_class_allows() -> None:
    made = [
        storage_class("zonal", "WaitForFirstConsumer", A, B),
        volume_claim("data", storageClassName="zonal"),
    ]
    items = [pool(), *made, waiting("a", volumes=using("data"))]

    assert kinds(items, decision(claim("a", zone=B))) == set()
    assert kinds(items, decision(claim("a", zone=C))) == {Kind.VOLUME}


def test_the_node_a_local_volume_was_on_does_not_matter() -> None:
    lines = [need(HOSTNAME, "In", "gone")]
    local = volume("pv", A, lines=lines, kind={"local": {"path": "/data"}})
    items = [pool(), local, volume_claim("data", volumeName="pv"), waiting("a", volumes=using("data"))]

    assert kinds(items, decision(claim("a", zone=A))) == set()


@pytest.mark.parametrize(
    "made",
    [
        [],
        [volume_claim("data", volumeName="nowhere")],
        [volume("pv", A), volume_claim("data", volumeName="pv", bound=False)],
        [volume_claim("data", volumeName="pv", phase="Lost")],
        [volume_claim("data")],
        [volume_claim("data", storageClassName="nowhere")],
        [storage_class("now", "Immediate"), volume_claim("data", storageClassName="now")],
    ],
    ids=["missing", "volume missing", "not bound yet", "lost", "classless", "class missing", "immediate"],
)
def test_a_pod_is_not_placed_while_no_node_would_do(made: list[Manifest]) -> None:
    items = [pool(), *made, waiting("a", volumes=using("data"))]

    assert kinds(items, decision(claim("a", zone=A))) == {Kind.VOLUME}
    assert kinds(items, decision(refused=["a"])) == set()


def test_the_claim_of_an_ephemeral_volume_may_be_still_to_come() -> None:
    asked = {"storageClassName": "zonal"}
    mine = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": asked}}}
    items = [pool(), storage_class("zonal", "WaitForFirstConsumer", A), waiting("a", volumes=[mine])]

    assert kinds(items, decision(claim("a", zone=A))) == set()
    assert kinds(items, decision(claim("a", zone=B))) == {Kind.VOLUME}


def test_a_node_holds_only_so_many_volumes_of_a_driver() -> None:
    driver = {"name": "ebs.csi.aws.com", "allocatable": {"count": 2}}
    limited = {"kind": "CSINode", "metadata": {"name": "node"}, "spec": {"drivers": [driver]}}
    made = [
        storage_class("free"),
        *(volume_claim(n, storageClassName="free") for n in ("one", "two", "three")),
    ]
    there = [machine("node"), limited, running("there", "node", volumes=using("one"))]
    items = [pool(), *made, *there]

    second = waiting("a", volumes=using("two"))
    shared = waiting("b", volumes=using("one"))
    third = waiting("c", volumes=using("three"))
    assert kinds([*items, second, shared], decision(existing={"node": ["a", "b"]})) == set()
    assert kinds([*items, second, third], decision(existing={"node": ["a", "c"]})) == {Kind.ATTACH_LIMIT}
    assert kinds([*items, second, third], decision(claim("c"), existing={"node": ["a"]})) == set()
