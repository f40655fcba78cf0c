from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.kubectl import Kubectl
from tests.real.parts.objects import STRATEGIC, says

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


def until(true: Callable[[], bool], *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.02)


def node(name: str, **annotations: str) -> dict[str, Any]:
    keys = {f"test.treenail.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake", **keys}},
        "spec": {"providerID": f"aws:///us-west-2a/i-{name}"},
        "status": {"capacity": {"cpu": "4", "memory": "16Gi", "pods": "58"}},
    }


def pod(name: str, *, on: str, **annotations: str) -> dict[str, Any]:
    keys = {f"test.treenail.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": keys},
        "spec": {
            "containers": [{"name": "c", "image": "pause"}],
            "nodeSelector": {"kubernetes.io/hostname": on} if on else {},
        },
    }


def labelled(named: dict[str, Any]) -> dict[str, Any]:
    named["metadata"]["labels"] = {"kubernetes.io/hostname": named["metadata"]["name"]}
    return named


def ready(parts: ControlPlane, name: str) -> bool:
    return says(parts.request("GET", f"{NODES}/{name}")[1], "Ready")


def pod_ready(parts: ControlPlane, name: str) -> bool:
    return says(parts.request("GET", f"{PODS}/{name}")[1], "Ready")


def take_for_broken(parts: ControlPlane, name: str) -> None:
    """Say of a pod what the node controller does when its node was not heard of for long."""
    unready = {"type": "Ready", "status": "False", "reason": "NodeNotReady"}
    change = {"status": {"conditions": [unready]}}
    status, answer = parts.request("PATCH", f"{PODS}/{name}/status", change, STRATEGIC)
    assert status == 200, answer


def phase(parts: ControlPlane, name: str) -> str:
    return str(parts.request("GET", f"{PODS}/{name}")[1].get("status", {}).get("phase", "gone"))


def remove(parts: ControlPlane, *paths: str) -> None:
    for path in paths:
        parts.request("DELETE", path)
        until(lambda path=path: parts.request("GET", path)[0] == 404)  # type: ignore[misc]


def test_a_posted_node_becomes_ready_and_runs_a_pod(control_plane: ControlPlane) -> None:
    assert control_plane.request("POST", NODES, labelled(node("runs")))[0] == 201
    until(lambda: ready(control_plane, "runs"))
    assert control_plane.request("POST", PODS, pod("first", on="runs"))[0] == 201
    until(lambda: phase(control_plane, "first") == "Running")

    found = control_plane.request("GET", f"{NODES}/runs")[1]
    remove(control_plane, f"{PODS}/first", f"{NODES}/runs")
    assert found["status"]["capacity"]["cpu"] == "4"
    assert found["status"]["allocatable"]["memory"] == "16Gi"


def test_a_machine_boots_as_long_as_its_annotation_says(control_plane: ControlPlane) -> None:
    control_plane.request("POST", NODES, node("slow", ready_after="700ms"))
    posted = time.monotonic()
    until(lambda: ready(control_plane, "slow"))
    waited = time.monotonic() - posted

    remove(control_plane, f"{NODES}/slow")
    assert waited > 0.6


def test_a_silent_machine_never_joins(control_plane: ControlPlane) -> None:
    control_plane.request("POST", NODES, node("silent", silent="yes"))
    control_plane.request("POST", NODES, node("lively"))
    until(lambda: ready(control_plane, "lively"))
    joined = ready(control_plane, "silent")

    remove(control_plane, f"{NODES}/silent", f"{NODES}/lively")
    assert not joined


def test_a_pod_ends_as_slowly_as_its_annotation_says(control_plane: ControlPlane) -> None:
    control_plane.request("POST", NODES, labelled(node("patient")))
    control_plane.request("POST", PODS, pod("lingers", on="patient", stop_after="700ms"))
    until(lambda: phase(control_plane, "lingers") == "Running")
    begun = time.monotonic()
    remove(control_plane, f"{PODS}/lingers")
    waited = time.monotonic() - begun

    remove(control_plane, f"{NODES}/patient")
    assert waited > 0.6


def test_a_pod_that_was_taken_for_broken_is_ready_again_where_its_kubelet_lives(
    control_plane: ControlPlane,
) -> None:
    control_plane.request("POST", NODES, labelled(node("lost-from-sight")))
    control_plane.request("POST", PODS, pod("lives", on="lost-from-sight"))
    control_plane.request("POST", PODS, pod("dead", on="lost-from-sight", silent=""))
    for name in ("lives", "dead"):
        until(lambda name=name: pod_ready(control_plane, name))  # type: ignore[misc]
        take_for_broken(control_plane, name)
    assert not pod_ready(control_plane, "lives")

    until(lambda: pod_ready(control_plane, "lives"))
    dead = not pod_ready(control_plane, "dead")

    remove(control_plane, f"{PODS}/lives", f"{PODS}/dead", f"{NODES}/lost-from-sight")
    assert dead


def test_kubectl_speaks_to_the_control_plane(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    control_plane.request("POST", NODES, node("seen"))
    shown = kubectl("get", "nodes", "-o", "name")

    remove(control_plane, f"{NODES}/seen")
    assert "node/seen" in shown


def test_what_kubectl_complains_of_is_shown(kubectl: Kubectl) -> None:
    with pytest.raises(AssertionError, match='nodes "nobody" not found'):
        kubectl("get", "node", "nobody")


def test_the_api_server_alone_takes_pods_and_nobody_touches_them(api_server: ControlPlane) -> None:
    assert api_server.running() == PARTS[:2]
    assert api_server.request("POST", PODS, pod("alone", on=""))[0] == 201
    assert phase(api_server, "alone") == "Pending"
    api_server.request("DELETE", f"{PODS}/alone?gracePeriodSeconds=0")


def test_a_restarted_api_server_keeps_its_address_and_its_data(api_server: ControlPlane) -> None:
    api_server.request("POST", MAPS, {"metadata": {"name": "kept"}})
    pid = api_server.pid("kube-apiserver")

    api_server.restart("kube-apiserver")

    assert api_server.pid("kube-apiserver") != pid
    assert api_server.request("GET", f"{MAPS}/kept")[0] == 200


def test_while_the_api_server_is_stopped_nothing_answers(api_server: ControlPlane) -> None:
    api_server.stop_part("kube-apiserver")
    try:
        with pytest.raises(urllib3.exceptions.HTTPError):
            api_server.request("GET", NODES)
        assert api_server.running() == ("etcd",)
    finally:
        api_server.start_part("kube-apiserver")
    assert api_server.request("GET", NODES)[0] == 200


def test_data_survive_a_killed_etcd(api_server: ControlPlane) -> None:
    api_server.request("POST", MAPS, {"metadata": {"name": "survivor"}})

    api_server.kill_part("etcd")
    api_server.start_part("etcd")

    until(lambda: api_server.request("GET", f"{MAPS}/survivor")[0] == 200)
