"""Scenarios in which Karpenter once placed pods that were left here, or placed the same ones for less."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.bench.packing.catalogues import FAKE_TYPES, relaxation
from tests.bench.packing.ours import problem_of, read_scenario
from tests.bench.packing.workloads import manifests
from tests.fuzz.catalogue import catalogue
from tests.fuzz.contest import placed, play
from tests.fuzz.ours import Treenail
from tests.fuzz.scenarios import GENERATORS
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PackingSettings

# How many pods of which app Karpenter v1.14.0 placed at least, in three decisions.
PLACED_BY_KARPENTER: Mapping[tuple[str, int], Mapping[str, int]] = {
    # The limit of the pool is reached: smaller pods fill the last node.
    ("plain", 127): {"app-0": 1, "app-10": 5, "app-11": 1, "app-12": 2, "app-4": 1, "app-5": 1, "app-8": 2},
    # A large pod must not push others off a node because it tries another required term than Karpenter.
    ("plain", 185): {"app-0": 1, "app-2": 1, "app-3": 3, "app-5": 5, "app-9": 8},
    # Those that no new node would hold take no room from larger ones.
    ("plain", 367): {"app-0": 1, "app-2": 1, "app-4": 3, "app-6": 8, "app-7": 5, "app-9": 2},
    ("plain", 399): {"app-1": 3, "app-2": 3, "app-3": 2, "app-4": 2, "app-5": 1, "app-6": 2, "app-9": 4},
    # The largest find that the limit leaves them no node before others have taken the nodes there are.
    ("plain", 474): {"app-10": 1, "app-3": 7, "app-4": 1, "app-5": 5, "app-6": 1, "app-8": 9, "app-9": 2},
    # Wishes that hold at first, and fall for some of the pods only.
    ("extended", 193): {"app-1": 3, "app-4": 2, "app-6": 8, "app-7": 3, "app-0": 2, "app-2": 3, "app-3": 5},
    ("extended", 272): {"app-5": 2, "app-6": 8, "app-2": 2, "app-3": 5, "app-0": 3, "app-1": 2},
    ("extended", 300): {"app-1": 8, "app-2": 5, "app-4": 1, "app-5": 1, "app-6": 2},
}

# What its nodes for all pods of a plain scenario cost, $/h, with the same wishes kept as here.
PAID_BY_KARPENTER: Mapping[int, float] = {
    182: 1.6451858,
    210: 1.1702591,
    221: 0.3040518,
    245: 1.2209,
    315: 1.6610045,
    410: 0.5165,
    483: 6.0542281,
}


# How many pods found a place in extended scenarios once those placed one by one keep each other's choice of
# types, and are not preferred to more pods.
PLACED_TOGETHER: Mapping[int, int] = {
    93: 17,
    163: 10,
    374: 19,
    453: 13,
}


@pytest.fixture(scope="module")
def treenail(tmp_path_factory: pytest.TempPathFactory) -> Treenail:
    types = tmp_path_factory.mktemp("catalogue") / "types.json"
    types.write_text(json.dumps(catalogue()))
    return Treenail(types)


@pytest.mark.parametrize("seed", PAID_BY_KARPENTER)
def test_the_same_pods_cost_no_more_than_with_karpenter(treenail: Treenail, seed: int) -> None:
    decision = treenail.decide(GENERATORS["plain"](seed))

    assert decision["lowerBound"] <= decision["cost"] <= PAID_BY_KARPENTER[seed] * 1.001


@pytest.mark.parametrize("case", PLACED_BY_KARPENTER, ids=lambda case: f"{case[0]}-{case[1]}")
def test_whoever_karpenter_places_is_placed(treenail: Treenail, case: tuple[str, int]) -> None:
    generator, seed = case

    decision = treenail.decide(GENERATORS[generator](seed))

    found = Counter(name.split("/")[1].rsplit("-", 1)[0] for name in placed(decision))
    assert {app: found[app] for app, pods in PLACED_BY_KARPENTER[case].items() if found[app] < pods} == {}


@pytest.mark.parametrize("seed", PLACED_TOGETHER)
def test_pods_placed_one_by_one_cost_no_others_their_place(treenail: Treenail, seed: int) -> None:
    match = play(seed, GENERATORS["extended"](seed), treenail)

    assert match.treenail.faults == []
    assert match.treenail.placed >= PLACED_TOGETHER[seed]


def test_nodes_of_pods_kept_apart_take_more_of_the_rest_where_there_are_too_many(tmp_path: Path) -> None:
    """Karpenter pays 104.81 $/h for 60 nodes; what costs less must not need many more of them."""
    content, types = tmp_path / "pods.json", tmp_path / "types.json"
    content.write_text(json.dumps(manifests("diverse", 300, 103)))
    types.write_text(json.dumps(relaxation(FAKE_TYPES)))
    problem = problem_of(read_scenario(content, read_catalogue(types), PackingSettings()))

    plan = pack(problem)

    assert plan.refused == ()
    assert plan.lower_bound <= plan.cost <= 0.8 * 104.81
    assert len(plan.claims) <= 66
