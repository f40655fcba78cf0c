from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import INFLATE, PLAYED, treenail
from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text

NODE: Manifest = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "worn", "labels": {"karpenter.sh/nodepool": "default"}},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
CLAIM: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "default-1", "labels": {"karpenter.sh/nodepool": "default"}},
    "spec": {
        "requirements": [],
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
    },
    "status": {
        "providerID": "kwok://worn",
        "capacity": NODE["status"]["capacity"],
        "allocatable": NODE["status"]["allocatable"],
        "conditions": [{"type": "Registered", "status": "True"}],
    },
}
KWOK_POOL: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "spec": {
                "requirements": [],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            }
        }
    },
}


def pod(name: str, cpu: str, **spec: object) -> Manifest:
    containers = [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def kwok_type(name: str, cpu: str, price: float) -> dict[str, object]:
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]},
    ]
    return {
        "name": name,
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": cpu, "memory": "8Gi", "pods": "32"},
        "offerings": [{"Price": price, "Available": True, "Requirements": requirements}],
    }


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    """A catalogue of two types, of 4 and 16 CPUs."""
    file = tmp_path / "types.json"
    file.write_text(json.dumps([kwok_type("c-4x", "4", 0.1), kwok_type("c-16x", "16", 0.4)]))
    return str(file)


def simulated(tmp_path: Path, *manifests: Manifest, options: tuple[str, ...] = ()) -> dict[str, Any]:
    file = tmp_path / "given.yaml"
    file.write_text(text(*manifests))
    ran = treenail("simulate", "-f", str(file), "-o", "json", *options)
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_json_has_the_parts_that_scripts_rely_on() -> None:
    ran = treenail("simulate", "-f", INFLATE, "-o", "json", "--repeat", "2")
    found = json.loads(ran.out)

    assert (ran.code, ran.err) == (0, "")
    assert list(found) == [
        "nodeClaims",
        "existing",
        "unschedulable",
        "refused",
        "terminating",
        "nominated",
        "cost",
        "lowerBound",
        "wholeCost",
        "wholeLowerBound",
        "pods",
        "seconds",
    ]
    [claim] = found["nodeClaims"]
    assert claim["nodePool"] == "default"
    assert claim["pods"] == [f"default/inflate-{n}" for n in range(5)]
    assert len(claim["instanceTypes"]) > 100
    assert claim["requests"] == {"cpu": "5", "pods": "5"}
    assert {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]} in claim[
        "requirements"
    ]
    assert claim["price"] == found["cost"] >= found["lowerBound"] > 0
    assert found["wholeCost"] >= found["wholeLowerBound"] > found["lowerBound"]
    assert (found["existing"], found["unschedulable"], found["pods"]) == ({}, {}, 5)
    assert len(found["seconds"]) == 2


def test_pods_go_onto_nodes_that_are_there_first(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        NODE,
        pod("there", "2", nodeName="worn"),
        pod("small", "1500m"),
        pod("large", "3"),
        options=("--instance-types", catalogue),
    )

    assert found["existing"] == {"worn": ["default/small"]}
    [claim] = found["nodeClaims"]
    assert (claim["pods"], claim["instanceTypes"]) == (["default/large"], ["c-4x", "c-16x"])
    assert found["pods"] == 2


def test_kwoks_types_keep_100m_cpu_and_10mi_for_themselves(tmp_path: Path, catalogue: str) -> None:
    fits = simulated(tmp_path, KWOK_POOL, pod("a", "3900m"), options=("--instance-types", catalogue))
    grows = simulated(tmp_path, KWOK_POOL, pod("a", "3901m"), options=("--instance-types", catalogue))

    assert fits["nodeClaims"][0]["instanceTypes"] == ["c-4x", "c-16x"]
    assert grows["nodeClaims"][0]["instanceTypes"] == ["c-16x"]


def test_pods_get_no_node_of_a_pool_that_is_to_have_a_number_of_its_own(
    tmp_path: Path, catalogue: str
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text(changed(KWOK_POOL, "spec.replicas", 2), pod("a", "1")))

    ran = treenail("simulate", "-f", str(file), "-o", "json", "--instance-types", catalogue)

    assert json.loads(ran.out)["nodeClaims"] == []
    assert "spec.replicas: is acted on only with FEATURE_GATES=StaticCapacity=true" in ran.err


def test_it_is_said_how_many_nodes_pools_are_to_have(tmp_path: Path, catalogue: str) -> None:
    floor = changed(changed(KWOK_POOL, "metadata.name", "floor"), "spec.weight", 1)
    floor["metadata"]["annotations"] = {"treenail.sh/min-nodes": "2"}
    file = tmp_path / "pools.yaml"
    file.write_text(text(changed(KWOK_POOL, "spec.replicas", 3), floor, pod("a", "1")))

    out = treenail("simulate", "-f", str(file), "--instance-types", catalogue).out

    assert "default is to have 3 nodes, whatever pods need, with the feature gate StaticCapacity: 0" in out
    assert "floor is to have at least 2 nodes, whatever pods need: 0 are there" in out


def test_pods_that_go_nowhere_are_refused_with_a_reason(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        pod("huge", "900"),
        pod("picky", "1", nodeSelector={"disk": "ssd"}),
        options=("--instance-types", catalogue),
    )

    assert found["nodeClaims"] == []
    assert "cpu 900 is asked for" in found["unschedulable"]["default/huge"]
    assert "disk In ['ssd'] is asked for" in found["unschedulable"]["default/picky"]


def test_refusals_are_data_for_programs(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        deployment("huge", 2, cpu="900", memory="1Mi"),
        options=("--instance-types", catalogue),
    )

    refusal = {
        "nodePool": "default",
        "node": None,
        "reason": "TooLarge",
        "values": {"about": "cpu", "asked": "900", "offered": ["15900m"], "nearest": "c-16x"},
        "sentence": "cpu 900 is asked for, and the largest type leaves 15900m to pods (c-16x)",
    }
    helpful = "it would fit if it asked for 15900m of cpu instead of 900"
    assert found["refused"] == [
        {
            "pods": ["default/huge-0", "default/huge-1"],
            "refusals": [refusal],
            "nearest": refusal,
            "remedy": {
                "forAll": True,
                "changes": [
                    {
                        "kind": "LowerRequest",
                        "object": "Pod",
                        "path": "spec.containers[].resources.requests",
                        "from": {"cpu": "900"},
                        "to": {"cpu": "15900m"},
                    }
                ],
                "node": None,
                "sentence": helpful,
            },
        }
    ]
    assert found["unschedulable"]["default/huge-1"] == f"TooLarge: default: {refusal['sentence']}; {helpful}"


def test_a_node_that_came_nearest_has_the_name_its_manifest_gives_it(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        changed(NODE, "metadata.labels", {"karpenter.sh/nodepool": "default", "disk": "ssd"}),
        pod("picky", "5", nodeSelector={"disk": "ssd"}),
        options=("--instance-types", catalogue),
    )

    assert found["refused"][0]["nearest"]["node"] == "worn"
    assert found["unschedulable"]["default/picky"].startswith("NodeFull: node worn: cpu 5 is asked for")


def test_where_a_cordoned_node_would_hold_a_pod_it_is_said_how_to_open_it(tmp_path: Path) -> None:
    found = simulated(
        tmp_path,
        {**NODE, "spec": {"unschedulable": True, "taints": [CORDON]}},
        pod("there", "1", nodeName="worn"),
        pod("small", "3"),
        pod("large", "4"),
    )

    assert (
        "it would fit onto node worn if node worn were not cordoned (kubectl uncordon worn)"
        in (found["unschedulable"]["default/small"])
    )
    assert "cordon" not in found["unschedulable"]["default/large"]


def test_pods_on_their_way_to_a_node_with_a_claim_go_by_its_own_name(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        CLAIM,
        {**NODE, "spec": {"providerID": "kwok://worn"}},
        pod("small", "1"),
        options=("--instance-types", catalogue),
    )

    assert found["existing"] == {"worn": ["default/small"]}


def test_pods_of_a_leaving_node_are_given_another(tmp_path: Path, catalogue: str) -> None:
    found = simulated(
        tmp_path,
        KWOK_POOL,
        changed(CLAIM, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"),
        {**NODE, "spec": {"providerID": "kwok://worn"}},
        pod("there", "2", nodeName="worn"),
        pod("waiting", "1"),
        options=("--instance-types", catalogue),
    )

    assert [claim["pods"] for claim in found["nodeClaims"]] == [["default/there", "default/waiting"]]
    assert found["pods"] == 2


@pytest.mark.parametrize(
    ("budget", "placed"),
    [
        pytest.param({"maxUnavailable": 0}, False, id="none may be gone"),
        pytest.param({"maxUnavailable": "0%"}, False, id="no share may be gone"),
        pytest.param({"minAvailable": "100%"}, False, id="all must stay"),
        pytest.param({"minAvailable": 1}, True, id="one must stay"),
    ],
)
def test_a_pod_that_a_budget_keeps_on_a_leaving_node_gets_no_new_one(
    tmp_path: Path, catalogue: str, *, budget: dict[str, Any], placed: bool
) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **budget}
    found = simulated(
        tmp_path,
        KWOK_POOL,
        changed(CLAIM, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"),
        {**NODE, "spec": {"providerID": "kwok://worn"}},
        changed(pod("there", "2", nodeName="worn"), "metadata", {"name": "there", "labels": {"app": "web"}}),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": spec,
        },
        options=("--instance-types", catalogue),
    )

    assert found["pods"] == (1 if placed else 0)


def test_of_pods_that_get_no_new_place_it_is_said_why(tmp_path: Path, catalogue: str) -> None:
    stops = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    manifests = (
        KWOK_POOL,
        NODE,
        changed(pod("stopping", "3", nodeName="worn"), "metadata", {"name": "stopping", **stops}),
        changed(pod("cancelled", "1"), "metadata", {"name": "cancelled", **stops}),
        changed(pod("preempts", "3"), "status", {"nominatedNodeName": "worn"}),
        pod("waiting", "2"),
    )
    options = ("--instance-types", catalogue)

    found = simulated(tmp_path, *manifests, options=options)

    assert found["terminating"] == ["default/cancelled", "default/stopping"]
    assert found["nominated"] == {"default/preempts": "worn"}
    assert [claim["pods"] for claim in found["nodeClaims"]] == [["default/waiting"]]
    assert (found["existing"], found["pods"]) == ({}, 1)
    lines = treenail("simulate", "-f", str(tmp_path / "given.yaml"), *options).out.splitlines()
    assert [line for line in lines if line.startswith(("terminating", "nominated"))] == [
        (
            "terminating: no place is looked for, and those on a node keep their room until they are gone: "
            "default/cancelled, default/stopping"
        ),
        "nominated: no place is looked for, as the scheduler makes room for them: default/preempts on worn",
    ]


def test_a_pod_of_a_leaving_node_that_is_placed_again_is_not_told_as_terminating(
    tmp_path: Path, catalogue: str
) -> None:
    gone = changed(CLAIM, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    db = {"name": "db-0", "deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [owner]}

    found = simulated(
        tmp_path,
        KWOK_POOL,
        gone,
        {**NODE, "spec": {"providerID": "kwok://worn"}},
        changed(pod("db-0", "2", nodeName="worn"), "metadata", db),
        options=("--instance-types", catalogue),
    )

    assert [claim["pods"] for claim in found["nodeClaims"]] == [["default/db-0"]]
    assert found["terminating"] == []


def test_manifests_may_be_several_files_and_lists(tmp_path: Path) -> None:
    pools = tmp_path / "pools.yaml"
    pools.write_text(text(node_class(), node_pool()))
    items = [deployment("a", 2), deployment("b", 3)]
    workloads = tmp_path / "workloads.json"
    workloads.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    ran = treenail("simulate", "-f", str(pools), "-f", str(workloads), "-o", "json")

    assert json.loads(ran.out)["pods"] == 5


def test_the_way_of_packing_can_be_chosen(tmp_path: Path, catalogue: str) -> None:
    pods = [pod(f"p{n}", cpu) for n, cpu in enumerate(["9", "3", "3", "3"])]
    costs = {
        packing: simulated(
            tmp_path, KWOK_POOL, *pods, options=("--instance-types", catalogue, "--packing", packing)
        )["cost"]
        for packing in ("cheapest", "first-fit-descending")
    }

    assert costs["cheapest"] <= costs["first-fit-descending"]


@pytest.mark.parametrize(("policy", "bought"), [("Respect", ["c-16x"]), ("ignore", ["c-4x", "c-16x"])])
def test_preferences_may_be_left_out_of_account(
    tmp_path: Path, catalogue: str, policy: str, bought: list[str]
) -> None:
    large = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c-16x"]}
    wish = {"weight": 1, "preference": {"matchExpressions": [large]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    options = ("--instance-types", catalogue, "--preference-policy", policy)

    found = simulated(tmp_path, KWOK_POOL, pod("a", "1", affinity=affinity), options=options)

    assert found["nodeClaims"][0]["instanceTypes"] == bought


@pytest.mark.parametrize("option", ["--preference-policy", "--min-values-policy"])
def test_a_policy_that_there_is_not_is_bad_input(tmp_path: Path, catalogue: str, option: str) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text(KWOK_POOL, pod("a", "3")))

    ran = treenail("simulate", "-f", str(file), "--instance-types", catalogue, option, "Lax")

    assert ran.code == 2
    assert option in ran.err


def test_the_table_shows_nodes_to_buy_refusals_and_cost(tmp_path: Path, catalogue: str) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text(KWOK_POOL, NODE, pod("a", "3"), pod("b", "3"), pod("huge", "900")))

    ran = treenail("simulate", "-f", str(file), "--instance-types", catalogue)

    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "default c-4x 2 0.1000 zone-a spot 1 cpu 3, pods 1 default/b" in lines
    assert "1 onto worn: default/a" in lines
    at = lines.index("unschedulable: default/huge")
    assert lines[at + 1 : at + 3] == [
        "TooLarge: default: cpu 900 is asked for, and the largest type leaves 15900m to pods (c-16x)",
        "it would fit if it asked for 15900m of cpu instead of 900",
    ]
    assert lines[-1].startswith("3 pods, 1 node to buy for $0.1000/h")


def test_a_pool_of_nodes_that_kwok_plays_has_the_types_that_the_controller_offers_there() -> None:
    ran = treenail("simulate", "-f", PLAYED, "-o", "json")

    assert (ran.code, ran.err) == (0, "")
    (claim,) = json.loads(ran.out)["nodeClaims"]
    assert claim["instanceTypes"][0] == "c-8x-amd64-linux"
    assert claim["pods"] == [f"default/inflate-{n}" for n in range(5)]
