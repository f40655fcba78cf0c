"""Pods that go nowhere for what they ask for, or for what is left."""

from __future__ import annotations

from typing import Final

from tests.adapters.cli.refused_manifests import (
    CPU,
    FAMILY,
    GPU,
    HOST,
    TYPE,
    WAY,
    ZONE,
    Case,
    daemon_set,
    node,
    pod,
    pool,
    selecting,
)
from tests.scenarios.manifests import Manifest, changed, deployment, need
from treenail.domain.packing.refusal_reasons import Reason


def _limited(manifest: Manifest) -> Manifest:
    """Give the pod's container limits as large as its requests, as devices must have them."""
    requests = manifest["spec"]["containers"][0]["resources"]["requests"]
    return changed(manifest, "spec.containers.0.resources", {"requests": requests, "limits": requests})


_USED: Final = node("used", labels={"karpenter.sh/nodepool": "default"})


AMOUNTS: Final = (
    Case("too many cores", Reason.TOO_LARGE, (pool(), pod({"cpu": "17"})), about="cpu"),
    Case("cores for thousandths", Reason.TOO_LARGE, (pool(), pod({"cpu": "500"})), about="cpu"),
    Case("too much memory", Reason.TOO_LARGE, (pool(), pod({"memory": "200Gi"})), about="memory"),
    Case("too much for one type at once", Reason.TOO_LARGE, (pool(), pod({"cpu": "12", "memory": "50Gi"}))),
    Case(
        "too large with what daemons take",
        Reason.TOO_LARGE,
        (pool(), daemon_set({"cpu": "1"}), pod({"cpu": "15500m"})),
        about="cpu",
    ),
    Case(
        "too large for the family it wants",
        Reason.TOO_LARGE,
        (pool(), pod({"cpu": "10"}, nodeSelector={FAMILY: "m"})),
        about="cpu",
    ),
    Case(
        "too large for the types the pool has",
        Reason.TOO_LARGE,
        (pool("default", need(CPU, "5", operator="Lt")), pod({"cpu": "6"})),
    ),
    Case(
        "too much storage",
        Reason.TOO_LARGE,
        (pool(), pod({"cpu": "1", "ephemeral-storage": "100Gi"})),
        about="ephemeral-storage",
    ),
    Case(
        "more devices than one machine has",
        Reason.TOO_LARGE,
        (pool(), _limited(pod({"cpu": "1", GPU: "2"}))),
        about=GPU,
    ),
    Case(
        "a device of a wrong name",
        Reason.UNKNOWN_RESOURCE,
        (pool(), _limited(pod({"cpu": "1", "nvidia.com/gpus": "1"}))),
        about="nvidia.com/gpus",
    ),
    Case(
        "a device that no machine has",
        Reason.UNKNOWN_RESOURCE,
        (pool(), _limited(pod({"cpu": "1", "example.com/fpga": "1"}))),
    ),
    Case(
        "a node that is full",
        Reason.NODE_FULL,
        (node(labels={"disk": "ssd"}), pool(), pod({"cpu": "5"}, nodeSelector={"disk": "ssd"})),
    ),
    Case(
        "a node by name that is full",
        Reason.NODE_FULL,
        (node("n7", cpu="2"), pool(), pod({"cpu": "3"}, nodeSelector={HOST: "n7"})),
    ),
    Case("a node that is full, and no pool", Reason.NODE_FULL, (node(), pod({"cpu": "5"}))),
    Case("no pool at all", Reason.NO_POOLS, (pod(),), curable=False),
)

STOCK: Final = (
    Case(
        "a limit of cores", Reason.LIMIT_REACHED, (pool(limits={"cpu": "6"}), _USED, pod({"cpu": "5"})), "cpu"
    ),
    Case(
        "a limit of memory",
        Reason.LIMIT_REACHED,
        (pool(limits={"memory": "9Gi"}), _USED, pod({"cpu": "5"})),
        about="memory",
    ),
    Case(
        "a limit of nodes",
        Reason.LIMIT_REACHED,
        (pool(limits={"nodes": "1"}), _USED, pod({"cpu": "5"})),
        about="nodes",
    ),
    Case(
        "a limit that holds some of many",
        Reason.LIMIT_REACHED,
        (pool(limits={"cpu": "20"}), deployment(replicas=7, cpu="7")),
    ),
    Case("a limit of nothing", Reason.LIMIT_REACHED, (pool(limits={"cpu": "0"}), pod())),
    Case(
        "a type that ran out",
        Reason.NO_CAPACITY,
        (pool(), selecting(TYPE="r-8x")),
    ),
    Case(
        "a pool of which all ran out",
        Reason.NO_CAPACITY,
        (pool("default", need(TYPE, "s-4x")), pod()),
    ),
    Case(
        "a type in a zone where it is not sold",
        Reason.NOT_SOLD,
        (pool(), pod(nodeSelector={TYPE: "t-4x", ZONE: "zone-b", WAY: "spot"})),
    ),
)
