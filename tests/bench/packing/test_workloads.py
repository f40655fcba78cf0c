from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.bench.packing.catalogues import FAKE_TYPES, relaxation
from tests.bench.packing.ours import problem_of, read_scenario
from tests.bench.packing.workloads import REQUIRED, WORKLOADS, ZONE, manifests
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.packing.problem import PackingSettings, Problem


@pytest.fixture
def types(tmp_path: Path) -> tuple[InstanceType, ...]:
    path = tmp_path / "types.json"
    path.write_text(json.dumps(relaxation(4)))
    return read_catalogue(path)


def read(content: object, folder: Path, types: tuple[InstanceType, ...]) -> Problem:
    path = folder / "manifests.json"
    path.write_text(json.dumps(content))
    return problem_of(read_scenario(path, types, PackingSettings()))


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_equal_seeds_give_equal_manifests_and_others_do_not(name: str) -> None:
    assert manifests(name, 20, 7) == manifests(name, 20, 7)
    assert manifests(name, 20, 7) != manifests(name, 20, 8)


@pytest.mark.parametrize("name", sorted(WORKLOADS))
@pytest.mark.parametrize("pods", [7, 53])
def test_a_workload_has_as_many_pods_as_were_asked_for(
    name: str, pods: int, tmp_path: Path, types: tuple[InstanceType, ...]
) -> None:
    problem = read(manifests(name, pods, 1), tmp_path, types)

    assert len({pod.uid for pod in problem.pods}) == pods
    assert [offer.pool.name for offer in problem.offers] == ["default"]


def test_diverse_pods_are_a_fifth_of_each_kind(tmp_path: Path, types: tuple[InstanceType, ...]) -> None:
    specs = [pod.spec for pod in read(manifests("diverse", 100, 3), tmp_path, types).pods]

    assert Counter(s.spread[0].topology_key for s in specs if s.spread) == {
        labels.ZONE: 20,
        labels.HOSTNAME: 20,
    }
    assert Counter((t.topology_key, t.anti) for s in specs for t in s.pod_affinity) == {
        (labels.ZONE, False): 20,
        (labels.HOSTNAME, True): 20,
    }
    assert all(constraint.hard for s in specs for constraint in s.spread)


def test_replicas_come_from_twenty_templates(tmp_path: Path, types: tuple[InstanceType, ...]) -> None:
    pods = read(manifests("replicas", 200, 3), tmp_path, types).pods

    assert len({tuple(sorted(pod.labels.items())) for pod in pods}) == 20
    assert len({pod.spec for pod in pods}) <= 20


def test_preferences_require_nothing(tmp_path: Path, types: tuple[InstanceType, ...]) -> None:
    written = json.dumps(manifests("preference", 5, 3))
    specs = {pod.spec for pod in read(manifests("preference", 5, 3), tmp_path, types).pods}

    assert REQUIRED not in written
    assert all(term.weight is not None for spec in specs for term in spec.pod_affinity)
    assert all(spec.node_affinity.preferred for spec in specs)


def test_deployments_find_their_nodes_there(tmp_path: Path, types: tuple[InstanceType, ...]) -> None:
    content = manifests("deployments", 2_000, 3)
    made = [item for item in content["items"] if item["kind"] == "Deployment"]
    problem = read(content, tmp_path, types)

    assert len(made) == 200
    assert len(problem.existing_nodes) == 200
    assert {existing_node.labels[ZONE] for existing_node in problem.existing_nodes} == {
        "test-zone-1",
        "test-zone-2",
        "test-zone-3",
    }
    assert 0 < sum("topologySpreadConstraints" in template(d)["spec"] for d in made) < 100
    for resource in ("cpu", "memory", "pods"):
        asked = sum(pod.spec.requests[resource] for pod in problem.pods)
        assert sum(existing_node.free[resource] for existing_node in problem.existing_nodes) > 1.5 * asked


def template(deployment: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = deployment["spec"]["template"]
    return found


def test_prices_of_the_ladder_follow_size() -> None:
    types = relaxation(FAKE_TYPES)
    prices = [{offer["Price"] for offer in one["offerings"]} for one in types]

    assert len(types) == 400
    assert all(len(of_one) == 1 for of_one in prices)
    assert [min(p) for p in prices] == sorted(min(p) for p in prices)
    assert min(prices[399]) == pytest.approx(400 * min(prices[0]))
