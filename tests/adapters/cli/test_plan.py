"""`treenail plan` says what consolidation would move, what that saves, and what blocks the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import EXAMPLES, treenail
from tests.adapters.cli.consolidated_manifests import (
    FULL,
    KWOK_CLASS,
    LARGE,
    OVERHEAD,
    PRICES,
    SMALL,
    ZONE,
    budget,
    claim,
    cluster,
    node,
    pod,
    pool,
)
from tests.adapters.kubernetes.scripted import Reply, ScriptedServer
from tests.scenarios.manifests import KEPT, Manifest, changed, need, node_class, node_pool, text
from treenail.adapters.kubernetes.resources import KWOK_NODE_CLASS, NODE, NODE_CLAIM, NODE_POOL, POD

UNDERUSED = str(EXAMPLES / "006-underused.yaml")
WHOLE = PRICES[SMALL] + OVERHEAD
# Two small nodes, and three, are as much as the pool may have: none is replaced.
TWO, THREE = pool(limits={"cpu": "4"}), pool(limits={"cpu": "6"})


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    def plan(manifests: str, *arguments: str) -> Any:
        file = tmp_path / "cluster.yaml"
        file.write_text(manifests)
        ran = treenail("plan", "-f", str(file), "-o", "json", *arguments)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return plan


def blockers(made: Any, of: str) -> list[tuple[str, str]]:
    (found,) = (one["blockers"] for one in made["blocked"] if one["node"] == of)
    return [(one["kind"], one["name"]) for one in found]


def test_a_node_whose_pods_fit_on_another_goes_and_its_whole_cost_is_saved(planned: Any) -> None:
    made = planned(cluster(node("a"), node("b"), pod("p", "a"), pod("q", "b"), pod("r", "b"), default=TWO))

    (move,) = made["moves"]
    assert (move["nodes"], move["pods"], move["reason"]) == (["a"], ["default/p"], "underutilized")
    assert move["existing"] == {"b": ["default/p"]}
    assert move["replacements"] == []
    assert move["saves"] == pytest.approx(WHOLE, abs=1e-5)
    assert move["costs"] == pytest.approx(0.01)
    assert made["costBefore"] - made["costAfter"] == pytest.approx(move["saves"])
    assert made["lowerBound"] <= made["costAfter"]


def test_a_large_node_with_a_small_pod_is_replaced_by_what_costs_less(planned: Any) -> None:
    made = planned(cluster(node("large", LARGE), pod("p", "large")))

    (move,) = made["moves"]
    (bought,) = move["replacements"]
    assert (bought["nodePool"], bought["pods"]) == ("default", ["default/p"])
    assert ZONE in bought["zones"]
    assert LARGE not in bought["instanceTypes"]
    assert move["saves"] == pytest.approx(PRICES[LARGE] - bought["price"], abs=1e-5)


def test_a_node_goes_back_to_a_heavier_pool_for_the_price_that_its_own_pool_allows(planned: Any) -> None:
    heavy = pool("heavy")
    heavy["spec"]["weight"] = 10
    heavy["spec"]["template"]["spec"]["requirements"].append(need("node.kubernetes.io/instance-type", SMALL))
    light = pool()
    there = node("a"), pod("p", "a", "3500m")
    assert planned(cluster(*there, heavy, default=light))["moves"] == []

    light["metadata"]["annotations"] = {"treenail.sh/return": "0%"}
    (move,) = planned(cluster(*there, heavy, default=light))["moves"]

    assert move["backTo"] == ["heavy"]
    assert [bought["nodePool"] for bought in move["replacements"]] == ["heavy"]
    assert move["saves"] == 0


def test_an_empty_node_goes_first_and_takes_no_pods(planned: Any) -> None:
    made = planned(cluster(node("a"), node("b"), node("c"), pod("p", "b"), pod("q", "c"), default=THREE))

    assert [(move["nodes"], move["reason"]) for move in made["moves"]] == [
        (["a"], "empty"),
        (["b"], "underutilized"),
    ]
    assert made["moves"][1]["existing"] == {"c": ["default/p"]}


def test_budgets_bound_the_plan_unless_it_is_to_be_whole(planned: Any) -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    tight = pool(budgets=[{"nodes": "1"}])
    there = cluster(*nodes, *(pod(f"p{i}", f"n{i}", "500m") for i in range(4)), default=tight)

    now, whole = planned(there), planned(there, "--whole")

    assert now["budgets"] == [{"nodePool": "default", "nodes": 4, "empty": 1, "underutilized": 1}]
    assert len(now["moves"]) == 1
    assert ("Budget", "default") in blockers(now, "n1") + blockers(now, "n2")
    assert [move["nodes"] for move in whole["moves"]] == [["n0"], ["n1"], ["n2"]]


def test_every_pod_that_may_not_be_evicted_is_a_blocker_of_its_node(planned: Any) -> None:
    held = pod("db", "a"), budget("db"), pod("job", "a", **KEPT)

    made = planned(cluster(node("a"), node("b"), *held, pod("q", "b")))

    assert sorted(blockers(made, "a")) == [("Pod", "default/job"), ("PodDisruptionBudget", "default/db")]
    saved = [
        one["wouldSave"] for entry in made["blocked"] for one in entry["blockers"] if entry["node"] == "a"
    ]
    assert saved == pytest.approx([WHOLE, WHOLE], abs=1e-5)


@pytest.mark.parametrize(
    ("disruption", "blocker"),
    [
        ({"consolidationPolicy": "WhenEmpty"}, ("NodePool", "default")),
        ({"consolidateAfter": "Never"}, ("NodePool", "default")),
        ({"budgets": [{"nodes": "0"}]}, ("Budget", "default")),
    ],
)
def test_a_pool_that_keeps_its_nodes_is_named(
    planned: Any, disruption: dict[str, Any], blocker: tuple[str, str]
) -> None:
    made = planned(cluster(node("a"), node("b"), pod("p", "a"), pod("q", "b"), default=pool(**disruption)))

    assert made["moves"] == []
    assert blockers(made, "a") == [blocker]


def test_pods_that_wait_are_given_their_places_first(planned: Any) -> None:
    full = [pod("w", "", "2500m"), pod("p", "a"), pod("q", "b")]

    made = planned(cluster(node("a"), node("b"), *full, default=pool(limits=FULL)))

    assert made["waiting"] == 1
    assert made["moves"] == []


def test_a_node_of_unknown_price_may_go_but_counts_as_saving_little(planned: Any) -> None:
    odd = node("a", zone="test-zone-of-old")

    made = planned(cluster(odd, node("b"), pod("p", "a"), pod("q", "b", **KEPT)))

    assert made["unpriced"] == ["a"]
    assert [(move["nodes"], move["saves"]) for move in made["moves"]] == [(["a"], OVERHEAD)]


def test_a_node_of_unknown_price_is_never_replaced(planned: Any) -> None:
    odd = node("a", LARGE, zone="test-zone-of-old")

    made = planned(cluster(odd, pod("p", "a")))

    assert made["moves"] == []
    assert blockers(made, "a") == [("Price", "a")]


def test_it_says_until_when_a_node_stays_for_consolidate_after(planned: Any) -> None:
    young = changed(node("a"), "metadata.creationTimestamp", "2026-01-31T09:00:00Z")
    there = cluster(young, node("b"), pod("p", "a"), pod("q", "b", "2500m"), default=pool(limits=FULL))

    made = planned(there, "--as-of", "2026-01-31T09:00:30Z")

    (found,) = (one["blockers"][0] for one in made["blocked"] if one["node"] == "a")
    assert (found["kind"], found["until"]) == ("ConsolidateAfter", "2026-01-31T09:01:00Z")
    assert [move["nodes"] for move in planned(there, "--as-of", "2026-01-31T09:01:00Z")["moves"]] == [["a"]]


def test_a_payback_keeps_what_would_not_earn_its_cost_in_time(planned: Any) -> None:
    small = (pod(f"p{i}", "a", "10m") for i in range(30))
    there = cluster(node("a"), node("b"), *small, pod("q", "b"), default=pool(limits=FULL))

    assert planned(there)["moves"]
    kept = planned(there, "--payback", "1m")
    assert kept["moves"] == []
    assert "wants moves to pay back within 1m0s" in kept["blocked"][0]["blockers"][0]["sentence"]


def test_in_a_region_of_unknown_prices_claims_tell_what_their_nodes_cost(tmp_path: Path) -> None:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    there = node("a", "m5.xlarge", zone="eu-central-1b")
    dear = claim("default-a", there, ref=ref, **{"treenail.sh/price": "0.230000"})
    file = tmp_path / "cluster.yaml"
    file.write_text(text(node_pool(), node_class(), there, dear, pod("p", "a", **KEPT)))

    ran = treenail("plan", "-f", str(file), "-o", "json", "--node-overhead-cost", "0")

    assert "no prices of eu-central-1 are known: those of us-east-1 are used" in ran.err
    # With a volume of 20 GiB.
    assert json.loads(ran.out)["costBefore"] == pytest.approx(0.2322, abs=1e-4)


def test_the_table_has_moves_in_order_reasons_with_counts_budgets_and_the_sum() -> None:
    out = treenail("plan", "-f", UNDERUSED).out

    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:2] == ["1", "node-7"]
    assert any(line[:2] == ["3", "the"] and "budget" in line for line in lines)
    assert "budgets of default: of 8 nodes 2 may go now as empty, and 1 more as underutilized" in out
    assert "2 nodes would go in 2 moves: $1.8612/h in place of $2.4815/h, $453 a month less" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--payback", "soon"), "--payback (CONSOLIDATION_PAYBACK) 'soon' is no duration above 0, such as"),
        (("--as-of", "tonight"), "--as-of 'tonight' is no time such as 2026-01-31T09:00:00Z"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    ran = treenail("plan", "-f", UNDERUSED, *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"treenail: {said}")


def test_a_wrong_field_is_named_with_its_file_and_object(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(cluster(default=pool(consolidationPolicy="Sometimes")))

    ran = treenail("plan", "-f", str(file))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"treenail: {file}: NodePool default: spec.disruption.consolidationPolicy: ")


def test_a_cluster_is_read_as_files_are(tmp_path: Path) -> None:
    nodes = [node("a"), node("b")]
    with ScriptedServer() as server:
        server.serve_all()
        server.answers("/version", Reply(body=b'{"gitVersion": "v1.34.0"}'))
        server.serve(NODE_POOL, served(TWO))
        server.serve(KWOK_NODE_CLASS, served(KWOK_CLASS))
        server.serve(
            NODE_CLAIM, *(served(claim(f"default-{n}", one)) for n, one in zip("ab", nodes, strict=True))
        )
        server.serve(NODE, *map(served, nodes))
        server.serve(POD, served(pod("p", "a"), "default"), served(pod("q", "b", "2"), "default"))

        ran = treenail("plan", "--kubeconfig", kubeconfig(tmp_path, server.url), "-o", "json")

    assert ran.code == 0, ran.err
    assert [move["nodes"] for move in json.loads(ran.out)["moves"]] == [["a"]]


def served(manifest: Manifest, namespace: str = "") -> Manifest:
    name = manifest["metadata"]["name"]
    known = {"uid": f"uid-{name}", "resourceVersion": "3", "creationTimestamp": "2026-01-01T00:00:00Z"}
    within = {"namespace": namespace} if namespace else {}
    return {**manifest, "metadata": {**manifest["metadata"], **known, **within}}


def test_without_nodes_it_says_so() -> None:
    ran = treenail("plan", "-f", str(EXAMPLES / "001-inflate.yaml"))

    assert (ran.code, ran.out) == (0, "nothing to move: there are no nodes\n")


def test_zones_that_are_not_of_ec2_are_warned_of_by_name(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(Path(UNDERUSED).read_text().replace("us-east-1", "rack-1"))

    ran = treenail("plan", "-f", str(file))

    assert "these are no zones of EC2: rack-1a, rack-1b; nodes are bought in us-east-1" in ran.err


@pytest.mark.parametrize("command", ["plan", "convert", "takeover check", "takeover back"])
@pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
def test_an_option_that_names_a_cluster_does_not_go_with_files(command: str, option: str) -> None:
    ran = treenail(*command.split(), "-f", UNDERUSED, option, "prod")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"treenail: {option} names a cluster, --file stands in place of one: give one of the two\n"
    )


def test_a_kubeconfig_of_the_environment_does_not_keep_files_from_being_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", "prod")

    assert treenail("plan", "-f", UNDERUSED).code == 0


def test_a_kind_that_a_snapshot_could_not_read_is_not_taken_for_empty(planned: Any) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"takenAt": "2026-03-02T10:00:00Z", "notRead": ["PersistentVolumeClaim: forbidden (403)"]}
    taken = {
        "apiVersion": "treenail.sh/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }
    holding = changed(pod("p", "a"), "spec.volumes", volumes)

    made = planned(cluster(node("a"), node("b"), holding, pod("q", "b"), taken, default=TWO))

    (found,) = (one["blockers"] for one in made["blocked"] if one["node"] == "a")
    assert "no PersistentVolumeClaim can be read" in found[0]["sentence"]
