"""Small situations and decisions on them, in a few words, for tests of the checker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.faults import Kind
from tests.fuzz.check.verdict import Verdict, check
from tests.fuzz.manifests import (
    ARCH,
    CAPACITY_TYPE,
    HOSTNAME,
    OS,
    REQUIRED,
    ZONE,
    Manifest,
    bound_pod,
    container,
    need,
    node,
    node_pool,
    pod,
)

Written: TypeAlias = dict[str, Any]

A, B, C = "test-zone-a", "test-zone-b", "test-zone-c"
SMALL, LARGE = "s-4x-amd64-linux", "s-16x-amd64-linux"
_PRICES = {
    (one["name"], *(r["values"][0] for r in offering["Requirements"])): offering["Price"]
    for one in catalogue()
    for offering in one["offerings"]
}


def pool(
    name: str = "default", *more: Manifest, labels: Mapping[str, str] | None = None, **spec: Any
) -> Manifest:
    """A pool of on-demand Linux nodes on amd64. `taints` and `startupTaints` go where they belong."""
    lines = [
        need(OS, "In", "linux"),
        need(ARCH, "In", "amd64"),
        need(CAPACITY_TYPE, "In", "on-demand"),
        *more,
    ]
    inner = {key: spec.pop(key) for key in ("taints", "startupTaints") if key in spec}
    written = node_pool(name, lines, labels or {}, **spec)
    written["spec"]["template"]["spec"] |= inner
    return written


def waiting(
    name: str, app: str = "web", *, cpu: str = "1", namespace: str = "default", **spec: Any
) -> Manifest:
    """A pod that is to be placed."""
    return pod(name, {"app": app}, _spec(cpu, spec), namespace=namespace)


def running(
    name: str, on: str, app: str = "web", *, cpu: str = "1", namespace: str = "default", **spec: Any
) -> Manifest:
    """A pod that is bound to a node."""
    return bound_pod(name, {"app": app}, _spec(cpu, spec), node=on, namespace=namespace)


def _spec(cpu: str, more: Mapping[str, Any]) -> Manifest:
    ports = [{"containerPort": 80, **port} for port in more.get("ports", ())]
    rest = {key: value for key, value in more.items() if key != "ports"}
    return {"containers": [container({"cpu": cpu, "memory": "1Gi"}, ports=ports)], **rest}


def machine(name: str, zone: str = A, *, cpus: int = 4, **more: Any) -> Manifest:
    """A node that is there."""
    labels = {ZONE: zone, ARCH: "amd64", OS: "linux", HOSTNAME: name, CAPACITY_TYPE: "on-demand"}
    existing_node = {"cpu": str(cpus), "memory": "16Gi", "pods": "30"}
    return node(name, labels | more.get("labels", {}), existing_node, more.get("taints", ()))


def spread(key: str = ZONE, skew: int = 1, app: str = "web", **more: Any) -> list[Manifest]:
    written = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **more,
    }
    return [written]


def together(app: str = "web", key: str = ZONE, **more: Any) -> Manifest:
    return {"podAffinity": {REQUIRED: [_term(app, key, more)]}}


def apart(app: str = "web", key: str = ZONE, **more: Any) -> Manifest:
    return {"podAntiAffinity": {REQUIRED: [_term(app, key, more)]}}


def _term(app: str, key: str, more: Mapping[str, Any]) -> Manifest:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def claim(
    *pods: str, types: Sequence[str] = (SMALL,), of: str = "default", zone: str = "", **more: Any
) -> Written:
    """A node to buy on demand; without a `zone` it may come up in any."""
    lines = [need(CAPACITY_TYPE, "In", "on-demand"), *more.get("requirements", ())]
    return {
        "nodePool": of,
        "pods": [_named(name) for name in pods],
        "instanceTypes": list(types),
        "requirements": [*lines, need(ZONE, "In", zone)] if zone else lines,
        "price": more.get("price", min(_PRICES[name, "on-demand", A] for name in types if name in _SOLD)),
    }


_SOLD = {name for name, *_ in _PRICES}


def decision(
    *claims: Written, existing: Mapping[str, Sequence[str]] | None = None, refused: Sequence[str] = ()
) -> Written:
    return {
        "nodeClaims": list(claims),
        "existing": {n: [_named(name) for name in names] for n, names in (existing or {}).items()},
        "unschedulable": {_named(name): "for a reason" for name in refused},
    }


def _named(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def verdict(items: Sequence[Manifest], decided: Written) -> Verdict:
    return check(items, catalogue(), decided)


def kinds(items: Sequence[Manifest], decided: Written) -> set[Kind]:
    """Return the kinds of faults found."""
    return {fault.kind for fault in verdict(items, decided).faults}
