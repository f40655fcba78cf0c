from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.fuzz.extended.scenario import extended
from tests.fuzz.manifests import Manifest
from tests.fuzz.plain import plain
from tests.fuzz.scenarios import GENERATORS

SEEDS = range(1, 151)


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_equal_seeds_give_equal_scenarios_and_others_do_not(name: str) -> None:
    generate = GENERATORS[name]

    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


@pytest.fixture(scope="module")
def drawn() -> str:
    return json.dumps([extended(seed) for seed in SEEDS])


@pytest.mark.parametrize(
    "said",
    [
        *("PersistentVolume", "StorageClass", "CSINode", "allowedTopologies"),
        *("ephemeral", "Immediate", "Lost"),
        *("minValues", "minDomains", "matchLabelKeys", "nodeAffinityPolicy", "nodeTaintsPolicy"),
        *("hostIP", "UDP", "priority", "startupTaints", "PreferNoSchedule"),
        *("namespaceSelector", "namespaces", "podAffinityTerm", "ScheduleAnyway"),
        *("initContainers", "restartPolicy", "overhead", "example.com/widget", "ephemeral-storage"),
        *('"nodes"', '"Gt"', '"Exists"', '"DoesNotExist"', '"NotIn"'),
    ],
)
def test_extended_scenarios_say_everything_there_is_to_say(drawn: str, said: str) -> None:
    assert said in drawn


@pytest.mark.parametrize("generate", [plain, extended])
def test_names_are_unique(generate: Callable[[int], list[Manifest]]) -> None:
    for seed in SEEDS:
        names = [(i["kind"], i["metadata"].get("namespace"), i["metadata"]["name"]) for i in generate(seed)]
        assert len(names) == len(set(names))
