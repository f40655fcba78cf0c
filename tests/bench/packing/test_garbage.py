from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import numpy.ma  # noqa: F401 -- numpy itself loads it at its first use, which leaves garbage
import pytest

from tests.bench.packing.catalogues import relaxation
from tests.bench.packing.freshness import Pods, Pristine
from tests.bench.packing.ours import problem_of, read_scenario
from tests.bench.packing.workloads import manifests
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PackingSettings

PODS = 400


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("workload", ["generic", "diverse", "preference", "deployments"])
def test_packing_leaves_less_than_an_object_in_ten_pods_to_the_garbage_collector(
    workload: str, tmp_path: Path
) -> None:
    (tmp_path / "types.json").write_text(json.dumps(relaxation(50)))
    (tmp_path / "pods.json").write_text(json.dumps(manifests(workload, PODS, 1)))
    types = read_catalogue(tmp_path / "types.json")
    problem = Pristine(
        problem_of(read_scenario(tmp_path / "pods.json", types, PackingSettings())), Pods.BARE
    ).fresh()
    gc.collect()

    plan = pack(problem)

    assert plan.claims or plan.nominations
    assert gc.collect() < PODS / 10
