from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.bench.packing import peer
from tests.bench.packing.catalogues import relaxation
from tests.bench.packing.contestants import karpenter
from tests.bench.packing.decisions import Decision, UndecidedError
from tests.bench.packing.workloads import manifests, node_pool, pod

PODS = {"cpu": "500m", "memory": "256Mi"}


def decide(folder: Path, *items: dict[str, Any], options: Sequence[str] = ()) -> Decision:
    """Have Karpenter decide on a pool of the smallest four types and on `items`."""
    try:
        peer.program()
    except peer.PeerNotBuiltError as error:
        pytest.skip(str(error))
    (folder / "types.json").write_text(json.dumps(relaxation(4)))
    path = folder / "manifests.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node_pool(), *items]}))
    with karpenter(folder / "types.json", options=options) as side:
        first = side.decide(path)
        again = side.decide(path)
    assert again.node_claims == first.node_claims
    assert again.existing == first.existing
    return again


def node(name: str, cpu: str) -> dict[str, Any]:
    size = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": size}}


def test_karpenter_fills_nodes_first_then_buys_and_says_what_it_cannot_place(tmp_path: Path) -> None:
    decided = decide(
        tmp_path,
        node("there", "1"),
        {**pod("in", {}, PODS, {"nodeName": "there"}), "status": {"phase": "Running"}},
        pod("a", {}, PODS, {}),
        pod("b", {}, PODS, {}),
        pod("huge", {}, {"cpu": "50"}, {}),
    )

    assert decided.pods == 3
    assert decided.existing == {"there": ("default/a",)}
    assert [claim.pods for claim in decided.node_claims] == [("default/b",)]
    assert decided.node_claims[0].instance_types[0] == "fake-it-0"
    assert decided.cost == pytest.approx(0.1 + 0.1 * 2 * 2**30 / 1e9)
    assert list(decided.unschedulable) == ["default/huge"]
    assert "no instance type" in decided.unschedulable["default/huge"]


def test_deployments_become_pods_and_priorities_follow_their_class(tmp_path: Path) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", {}, PODS, {})["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }

    decided = decide(tmp_path, deployment)

    assert decided.placed == {"default/web-0", "default/web-1", "default/web-2"}
    assert decided.seconds[0] > 0
    assert decided.peak_mib > 1


def test_volumes_are_found_by_claims_of_any_namespace(tmp_path: Path) -> None:
    bound = {"volumeName": "disk", "storageClassName": "", "accessModes": ["ReadWriteOnce"]}
    told = {"pv.kubernetes.io/bind-completed": "yes"}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-2"]}
    reached_from = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}}
    disk = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": reached_from,
    }
    data = {"name": "data", "namespace": "default", "annotations": told}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": data, "spec": bound}
    mounted = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}

    decided = decide(tmp_path, disk, {**claim, "status": {"phase": "Bound"}}, pod("a", {}, PODS, mounted))

    (node_claim,) = decided.node_claims
    assert node_claim.allows("topology.kubernetes.io/zone", "test-zone-2")
    assert not node_claim.allows("topology.kubernetes.io/zone", "test-zone-1")


def test_preferences_can_be_ignored(tmp_path: Path) -> None:
    items = manifests("preference", 4, 1)["items"][1:]

    apart = decide(tmp_path, *items)
    together = decide(tmp_path, *items, options=["-preference-policy=Ignore"])

    assert apart.nodes > together.nodes == 1


def test_what_is_no_manifest_is_told_and_the_process_goes_on(tmp_path: Path) -> None:
    with pytest.raises(UndecidedError, match="cannot be decided on"):
        decide(tmp_path, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
