"""Node overlays on a real API server: watched behind their gate, acted on, edited, told of by conditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.real.parts.control_plane import ControlPlane
from tests.real.system.bad_objects import class_, deployment, pool
from tests.real.system.cluster import PATHS, Cluster
from tests.real.system.controller import Controller, eventually
from tests.scenarios.manifests import need, node_overlay

BIG, SMALL = "m-64x-amd64-linux", "c-4x-amd64-linux"
VERSION = ("karpenter.sh/v1alpha1", "NodeOverlay")


def of_type(name: str) -> dict[str, object]:
    return need("node.kubernetes.io/instance-type", name)


@contextmanager
def running(plane: ControlPlane, gates: str) -> Iterator[Cluster]:
    cluster = Cluster(plane)
    cluster.install()
    env = {"CLOUD": "kwok", "CLUSTER_NAME": "demo", "KUBECONFIG": str(plane.kubeconfig)}
    try:
        with Controller({**env, "FEATURE_GATES": gates}):
            yield cluster
    finally:
        cluster.clear()


def types_bought(cluster: Cluster) -> set[str]:
    return {
        claim["metadata"]["labels"].get("node.kubernetes.io/instance-type", "") for claim in cluster.claims()
    }


def condition(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return what an overlay says of its being valid."""
    _, overlay = cluster.plane.request("GET", f"{PATHS[VERSION]}/{name}")
    conditions = overlay.get("status", {}).get("conditions", ())
    return next((dict(one) for one in conditions if one["type"] == "ValidationSucceeded"), {})


def test_an_overlay_decides_what_is_bought_and_says_whether_it_is_valid(control_plane: ControlPlane) -> None:
    with running(control_plane, "NodeOverlay=true") as cluster:
        cluster.apply(class_("default"), pool("default"), node_overlay("own", of_type(BIG), price="0.001"))
        cluster.apply(deployment("web", 2))
        eventually(lambda: cluster.running() == 2, "the pods do not run")

        assert types_bought(cluster) == {BIG}
        [claim] = cluster.claims()
        annotations = claim["metadata"]["annotations"]
        assert annotations["karpenter.sh/price-overlay-applied"] == "true"
        assert annotations["treenail.sh/price"] == "0.001000"
        assert annotations["treenail.sh/price-from-overlay"] == "own"
        eventually(lambda: condition(cluster, "own").get("status") == "True", "no condition is shown")

        cluster.apply(node_overlay("own", of_type(SMALL), price="0.001"))
        cluster.apply(node_overlay("another", price="7"))
        conflict = "the conflict is not shown"
        eventually(lambda: condition(cluster, "another").get("reason") == "Conflict", conflict)
        assert condition(cluster, "own")["status"] == "True"


def test_without_the_gate_an_overlay_changes_nothing(control_plane: ControlPlane) -> None:
    with running(control_plane, "NodeOverlay=false") as cluster:
        cluster.apply(class_("default"), pool("default"), node_overlay("own", of_type(BIG), price="0.001"))
        cluster.apply(deployment("web", 2))
        eventually(lambda: cluster.running() == 2, "the pods do not run")

        assert BIG not in types_bought(cluster)
        assert condition(cluster, "own") == {}
