"""Pools that require a label of their own, and leave it open which value it has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import Manifest, deployment, need, node_class, node_pool, text
from tests.scenarios.test_old_ways import provisioner, template
from treenail.adapters.embed.rehearsal import Rehearsal

KEY = "example.com/rack"
OPEN = {
    "In": ([need(KEY, "b", "a")], "a"),
    "Exists": ([need(KEY, operator="Exists")], "0"),
    "NotIn": ([need(KEY, "0", "1", operator="NotIn")], "2"),
    "Gt": ([need(KEY, "7", operator="Gt")], "8"),
    "Lt": ([need(KEY, "7", operator="Lt")], "0"),
    "Gt and Lt": ([need(KEY, "7", operator="Gt"), need(KEY, "10", operator="Lt")], "8"),
    "Gt and NotIn": ([need(KEY, "7", operator="Gt"), need(KEY, "8", operator="NotIn")], "9"),
    "In and Gt": ([need(KEY, "3", "12", "9", operator="In"), need(KEY, "8", operator="Gt")], "12"),
}


def pool(name: str = "default", *needs: dict[str, object]) -> Manifest:
    made = node_pool(name)
    made["spec"]["template"]["spec"]["requirements"] += needs
    made["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    return made


def beta(made: Manifest) -> Manifest:
    made = {**made, "apiVersion": "karpenter.sh/v1beta1"}
    made["spec"]["disruption"] |= {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}
    made["spec"]["template"]["spec"]["nodeClassRef"] = {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "name": "default",
    }
    return made


def of_generation(generation: str, *needs: dict[str, object]) -> list[Manifest]:
    if generation == "v1alpha5":
        families = need("karpenter.k8s.aws/instance-family", "c5", "m5")
        return [template(), provisioner(requirements=[families, *needs])]
    made = pool("default", *needs)
    return [node_class(), made if generation == "v1" else beta(made)]


@pytest.mark.parametrize("generation", ["v1", "v1beta1", "v1alpha5"])
@pytest.mark.parametrize(("needs", "value"), list(OPEN.values()), ids=list(OPEN))
def test_a_node_is_given_one_value_and_has_not_drifted(generation: str, needs: Any, value: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*of_generation(generation, *needs), deployment(replicas=1)))
        rehearsal.run("20m")

        (record,) = rehearsal.history()
        assert record.cause is None
        assert [node.labels.get(KEY) for node in rehearsal.nodes()] == [value]
        (claim,) = rehearsal.claims()
        assert claim.labels[KEY] == value
        assert claim.requirements[KEY].single == value
        assert rehearsal.running() == 1


@pytest.mark.parametrize("wanted", ["a", "b"])
def test_pods_have_the_value_that_they_select(wanted: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        choosing = deployment("choosing", 1, node_selector={KEY: wanted})
        rehearsal.apply(text(*of_generation("v1", need(KEY, "a", "b")), choosing))
        rehearsal.run("10m")

        assert [node.labels[KEY] for node in rehearsal.nodes()] == [wanted]
        assert [record.cause for record in rehearsal.history()] == [None]
        assert rehearsal.running() == 1


def spread(name: str, replicas: int, key: str) -> Manifest:
    made = deployment(name, replicas)
    made["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": name}},
        }
    ]
    return made


def test_a_spread_over_the_values_of_two_pools_splits_them_between_spot_and_on_demand() -> None:
    with Rehearsal(seed=1) as rehearsal:
        spot = pool("spot", need("capacity-spread", "2", "3", "4", "5"))
        on_demand = pool("on-demand", need("capacity-spread", "1"))
        on_demand["spec"]["template"]["spec"]["requirements"][0]["values"] = ["on-demand"]
        rehearsal.apply(text(node_class(), spot, on_demand, spread("web", 20, "capacity-spread")))
        rehearsal.run("1h")

        by_value: dict[str, int] = {}
        value_of = {node.name: node.labels["capacity-spread"] for node in rehearsal.nodes()}
        for one in rehearsal.pods():
            by_value[value_of[one.node_name]] = by_value.get(value_of[one.node_name], 0) + 1
        assert by_value == {"1": 4, "2": 4, "3": 4, "4": 4, "5": 4}
        assert {record.cause for record in rehearsal.history()} == {None}


def test_nothing_is_bought_where_no_label_can_have_a_value_that_is_allowed() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*of_generation("v1", need(KEY, "0", operator="Lt")), deployment(replicas=1)))
        rehearsal.run("5m")

        assert not rehearsal.history()
        assert rehearsal.running() == 0
