"""Pods that go nowhere for other pods, and for their ports."""

from __future__ import annotations

from typing import Any, Final

from tests.adapters.cli.refused_manifests import HOST, ZONE, Case, daemon_set, node, pod, pool
from tests.scenarios.manifests import Manifest, changed, deployment, need
from treenail.domain.packing.refusal_reasons import Reason


def _term(app: str, key: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def _near(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(app, key, **more)]}}


def _apart(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(app, key)]}}


def _spread(key: str = ZONE, **more: Any) -> list[dict[str, Any]]:
    return [_term("web", key, maxSkew=1, whenUnsatisfiable="DoNotSchedule", **more)]


def _many(replicas: int, **spec: Any) -> Manifest:
    made = deployment("web", replicas)
    return changed(made, "spec.template.spec", {**made["spec"]["template"]["spec"], **spec})


def _there(app: str, on: str, *, namespace: str = "default", **spec: Any) -> Manifest:
    """A pod that has its place on a node."""
    name = f"{app}-on-{on}"
    return pod({"cpu": "1"}, name=name, namespace=namespace, labels={"app": app}, nodeName=on, **spec)


def _zonal(zone: str, *, cpu: str = "2") -> Manifest:
    return node(f"in-{zone}", cpu=cpu, labels={ZONE: f"zone-{zone}"})


def _with_port(port: int) -> Manifest:
    ports = [{"containerPort": 80, "hostPort": port}]
    return changed(pod(), "spec.containers.0", {"name": "app", "ports": ports})


TOPOLOGY: Final = (
    Case(
        "a spread over more zones than there are",
        Reason.TOPOLOGY_SPREAD,
        (pool(), _many(3, topologySpreadConstraints=_spread(minDomains=3))),
        about=ZONE,
    ),
    Case(
        "a spread that a full node holds back",
        Reason.TOPOLOGY_SPREAD,
        (
            pool("default", need(ZONE, "zone-a")),
            _zonal("b", cpu="500m"),
            _many(2, topologySpreadConstraints=_spread()),
        ),
    ),
    Case(
        "a spread over a label that nodes do not have",
        Reason.TOPOLOGY_SPREAD,
        (pool(), _many(2, topologySpreadConstraints=_spread("example.com/rack"))),
        about="example.com/rack",
    ),
    Case(
        "near pods that are nowhere",
        Reason.POD_AFFINITY,
        (pool(), pod(affinity=_near("db"))),
        about=ZONE,
    ),
    Case(
        "near pods of another namespace",
        Reason.POD_AFFINITY_NAMESPACE,
        (pool(), _zonal("a"), _there("db", "in-a", namespace="data"), pod(affinity=_near("db"))),
    ),
    Case(
        "on the node of pods, where there is no room",
        Reason.POD_AFFINITY,
        (pool(), _zonal("a", cpu="1500m"), _there("db", "in-a"), pod(affinity=_near("db", HOST))),
        about=HOST,
    ),
    Case(
        "near pods in a zone the pool is not in",
        Reason.POD_AFFINITY,
        (pool(), _zonal("c", cpu="1500m"), _there("db", "in-c"), pod(affinity=_near("db"))),
    ),
    Case(
        "more pods apart than there are zones",
        Reason.POD_ANTI_AFFINITY,
        (pool(), _many(4, affinity=_apart("web"))),
        about=ZONE,
    ),
    Case(
        "apart from pods that are in every zone",
        Reason.POD_ANTI_AFFINITY,
        (
            pool(),
            _zonal("a", cpu="1"),
            _zonal("b", cpu="1"),
            _there("db", "in-a"),
            _there("db", "in-b"),
            pod(affinity=_apart("db")),
        ),
    ),
    Case(
        "pods in every zone that keep apart from it",
        Reason.OTHERS_ANTI_AFFINITY,
        (
            pool(),
            _zonal("a", cpu="1"),
            _zonal("b", cpu="1"),
            _there("db", "in-a", affinity=_apart("web")),
            _there("db", "in-b", affinity=_apart("web")),
            _many(1),
        ),
        curable=False,
    ),
    Case(
        "a port of a daemon",
        Reason.HOST_PORT_TAKEN,
        (
            pool(),
            changed(daemon_set({"cpu": "100m"}), "spec.template.spec", _with_port(9100)["spec"]),
            _with_port(9100),
        ),
        about="9100/TCP",
    ),
    Case(
        "a port of a pod on the only node",
        Reason.HOST_PORT_TAKEN,
        (
            node("n1"),
            changed(_with_port(80), "metadata.name", "there")
            | {"spec": {**_with_port(80)["spec"], "nodeName": "n1"}},
            _with_port(80),
        ),
        about="80/TCP",
    ),
)
