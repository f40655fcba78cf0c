"""Pods that go nowhere for the labels and taints of nodes."""

from __future__ import annotations

from typing import Final

from tests.adapters.cli.refused_manifests import (
    ARCH,
    BUILD,
    CPU,
    HOST,
    OS,
    TYPE,
    WAY,
    ZONE,
    Case,
    node,
    on_node,
    pod,
    pool,
    requiring,
    selecting,
)
from tests.scenarios.manifests import Manifest, deployment, need
from treenail.domain.packing.refusal_reasons import Reason


def _taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _tolerating(value: str, effect: str = "NoSchedule") -> Manifest:
    return pod(tolerations=[{"key": "team", "operator": "Equal", "value": value, "effect": effect}])


TAINTS: Final = (
    Case("a taint", Reason.UNTOLERATED_TAINT, (pool(taints=[_taint("team", "gpu")]), pod())),
    Case(
        "a taint without a value",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("edge", effect="NoExecute")]), pod()),
        about="edge:NoExecute",
    ),
    Case(
        "a toleration of another value",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), _tolerating("gpus")),
    ),
    Case(
        "a toleration of another effect",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), _tolerating("gpu", "NoExecute")),
    ),
    Case(
        "two taints",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu"), _taint("edge")]), deployment(replicas=3)),
    ),
    Case(
        "a taint on the only node",
        Reason.UNTOLERATED_TAINT,
        (node(taints=[_taint("team", "gpu")]), pod()),
    ),
)

LABELS: Final = (
    Case(
        "a slip in a label's key",
        Reason.UNDEFINED_LABEL,
        (pool(labels={"example.com/team": "blue"}), pod(nodeSelector={"example.com/taem": "blue"})),
        about="example.com/taem",
    ),
    Case(
        "a slip in a well-known key",
        Reason.UNDEFINED_LABEL,
        (pool(), pod(nodeSelector={"topology.kubernetes.io/zones": "zone-a"})),
    ),
    Case(
        "a slip in a label's value",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(labels={"example.com/team": "blue"}), pod(nodeSelector={"example.com/team": "bleu"})),
    ),
    Case("a label that nobody has", Reason.UNDEFINED_LABEL, (pool(), pod(nodeSelector={"disk": "ssd"}))),
    Case(
        "a slip in an instance type",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool(), selecting(TYPE="c-44x")),
        about=TYPE,
    ),
    Case("a zone the pool is not in", Reason.INCOMPATIBLE_REQUIREMENT, (pool(), selecting(ZONE="zone-c"))),
    Case("a slip in a zone", Reason.INCOMPATIBLE_REQUIREMENT, (pool(), selecting(ZONE="zone-aa"))),
    Case(
        "a way of buying the pool does not use",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool("default", need(WAY, "spot")), selecting(WAY="on-demand")),
        about=WAY,
    ),
    Case("another architecture", Reason.ARCHITECTURE_MISMATCH, (pool(), selecting(ARCH="arm64"))),
    Case("another operating system", Reason.OPERATING_SYSTEM_MISMATCH, (pool(), selecting(OS="windows"))),
    Case(
        "another build of Windows",
        Reason.WINDOWS_BUILD_MISMATCH,
        (
            pool("default", need(OS, "windows"), need(BUILD, "10.0.17763")),
            pod(nodeSelector={OS: "windows", BUILD: "10.0.20348"}),
        ),
        about=BUILD,
    ),
    Case(
        "values of which the pool has none",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(), requiring([need(ZONE, "zone-c", "zone-d")])),
    ),
    Case(
        "any value of a label that nobody has",
        Reason.UNDEFINED_LABEL,
        (pool(), requiring([{"key": "rack", "operator": "Exists"}])),
    ),
    Case(
        "more cores than any type has, by label",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool(), requiring([need(CPU, "64", operator="Gt")])),
        about=CPU,
    ),
    Case(
        "an architecture and a family that are not made together",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool("default", need(ARCH, "amd64", "arm64")), selecting(ARCH="arm64", FAMILY="m")),
    ),
    Case(
        "a label that must be missing and is not",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (
            pool(labels={"example.com/team": "blue"}),
            requiring([{"key": "example.com/team", "operator": "DoesNotExist"}]),
        ),
    ),
    Case(
        "none of the values the pool has",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(), requiring([need(ZONE, "zone-a", "zone-b", operator="NotIn")])),
    ),
    Case(
        "a selector against an affinity",
        Reason.CONTRADICTORY_REQUIREMENTS,
        (pool(), requiring([need(ZONE, "zone-b")], selector={ZONE: "zone-a"})),
    ),
    Case(
        "a value that is asked for and excluded",
        Reason.CONTRADICTORY_REQUIREMENTS,
        (pool(), requiring([need(ZONE, "zone-b"), need(ZONE, "zone-b", operator="NotIn")])),
    ),
    Case(
        "two alternatives, both wrong",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (
            pool(),
            requiring([need("disk", "ssd"), need(ARCH, "amd64")], [need(ZONE, "zone-c"), need(OS, "linux")]),
        ),
    ),
    Case(
        "a node by a name that no node has",
        Reason.HOSTNAME_REQUIRED,
        (pool(), selecting(HOST="node-7")),
        about=HOST,
    ),
    Case(
        "a node by its field that no node has",
        Reason.HOSTNAME_REQUIRED,
        (pool(), on_node("node-7")),
    ),
    Case(
        "a node by its field that is full",
        Reason.NODE_FULL,
        (node("n7", cpu="500m"), pool(), on_node("n7")),
    ),
    Case(
        "a label and a taint at once",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), pod(nodeSelector={"disk": "ssd"})),
    ),
)
