from __future__ import annotations

import json
from functools import cache

import pytest

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.consolidation.clusters import Cluster, cluster
from tests.fuzz.consolidation.steps import nodes_of

SEEDS = range(1, 41)


def test_equal_seeds_give_equal_clusters_and_others_do_not() -> None:
    assert cluster(7) == cluster(7)
    assert cluster(7) != cluster(8)


@cache
def _drawn() -> list[Cluster]:
    return [cluster(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def drawn() -> str:
    return json.dumps([one.items for one in _drawn()])


@pytest.mark.parametrize(
    "said",
    [
        '"WhenEmpty"',
        '"Balanced"',
        '"consolidateAfter": "Never"',
        '"weight"',
        '"limits"',
        '"minValues"',
        '"kind": "PodDisruptionBudget"',
        '"kind": "PersistentVolume"',
        '"kind": "CSINode"',
        '"kind": "DaemonSet"',
        '"karpenter.sh/do-not-disrupt": "true"',
        '"controller.kubernetes.io/pod-deletion-cost"',
        '"topologySpreadConstraints"',
        '"podAntiAffinity"',
        '"podAffinity"',
        '"hostPort"',
        '"taints": [{',
        '"name": "waiting-0"',
    ],
)
def test_clusters_have_all_that_consolidation_looks_at(drawn: str, said: str) -> None:
    assert said in drawn


@pytest.mark.parametrize("seed", [3, 17, 35])
def test_no_node_holds_more_than_it_has_room_for(seed: int) -> None:
    nodes = Scenario(cluster(seed).items, catalogue()).nodes.values()

    assert {name for one in nodes for name, free in one.free.items() if free < 0} == set()


def test_sizes_differ_from_a_few_nodes_to_sixty() -> None:
    sizes = [len(nodes_of(one)) for one in _drawn()]

    assert (min(sizes), max(sizes)) == (5, 60)
