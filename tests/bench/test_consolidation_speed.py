"""What a search for consolidation moves takes at a thousand nodes: beside packing the same pods anew.

Times are of the processor, of this process alone, and are compared with others of the same run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from time import process_time
from typing import Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.thirty_pods_a_node import NODES, PODS, thirty_pods_a_node
from treenail.adapters.solver.garbage import uncollected
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.consolidation.rearrangement import Rearrangement
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.pack import pack

_SIMULATIONS: Final = 100
# All pods packed once took some 70 times as long as one simulation, and a tenth to a sixth of a repack.
_LEAST_TO_ONE_SIMULATION: Final = 25
_MOST_FOR_A_REPACK: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Seconds of the processor for each part of a search, and what came of it."""

    packing: float
    reading: float
    simulations: tuple[float, ...]
    repack: float
    plan: ConsolidationPlan


def seconds(call: Callable[[], object]) -> float:
    began = process_time()
    call()
    return process_time() - began


def simulation(cluster: Rearrangement, name: str) -> float:
    """Return how long it takes to find out what becomes of the pods of a node without it."""

    def tried() -> None:
        cluster.without((name,), to_the_end=True)
        cluster.undo()

    return seconds(tried)


def searched(problem: ConsolidationProblem) -> Search:
    plans: list[ConsolidationPlan] = []
    with uncollected():
        packing = seconds(lambda: pack(replace(problem.problem, existing_nodes=())))
        began = process_time()
        cluster = Rearrangement(problem.problem, problem.candidates)
        reading = process_time() - began
        some = islice(problem.candidates, 0, None, len(problem.candidates) // _SIMULATIONS)
        simulations = tuple(simulation(cluster, one.name) for one in some)
        whole = seconds(lambda: plans.append(repack(problem)))
    return Search(packing=packing, reading=reading, simulations=simulations, repack=whole, plan=plans[0])


def test_a_simulation_takes_a_small_part_of_packing_all_pods_and_a_repack_a_few_times_as_much(
    benchmark: BenchmarkFixture,
) -> None:
    if benchmark.disabled:
        pytest.skip("takes a while: make bench runs it")
    problem = thirty_pods_a_node()
    assert (len(problem.candidates), len(problem.problem.pods)) == (NODES, PODS)

    found: Search = benchmark.pedantic(searched, args=(problem,), rounds=1, iterations=1)  # type: ignore[no-untyped-call]

    one = median(found.simulations)
    told = {
        "one simulation ms": round(1000 * one, 2),
        "slowest simulation ms": round(1000 * max(found.simulations), 2),
        "reading the cluster s": round(found.reading, 2),
        "whole repack s": round(found.repack, 2),
        "packing all pods s": round(found.packing, 2),
        "moves": len(found.plan.moves),
        "load": round(os.getloadavg()[0], 1),
    }
    benchmark.extra_info.update(told)
    sys.stdout.write("".join(f"{name} {value}\n" for name, value in told.items()))
    assert one * _LEAST_TO_ONE_SIMULATION < found.packing
    assert found.repack < _MOST_FOR_A_REPACK * found.packing
    # The nodes are six tenths full: as much of the cost at least is more than is needed.
    assert found.plan.cost_after < 0.7 * found.plan.cost
