from __future__ import annotations

import gc

import pytest

from tests.domain.packing.problems import asking, pods, problem
from treenail.adapters.solver.garbage import uncollected
from treenail.adapters.solver.inline import AdvisingSolver
from treenail.domain.packing.problem import Problem


def crowded() -> Problem:
    return problem(pods("web", 30, asking(1)), pods("large", 3, asking(20)), pods("huge", 2, asking(900)))


def test_nothing_is_collected_meanwhile_and_all_is_as_before_after() -> None:
    def fails() -> None:
        with uncollected():
            assert not gc.isenabled()
            raise LookupError

    with pytest.raises(LookupError):
        fails()

    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()


def test_a_decision_leaves_nothing_to_collect() -> None:
    solver, one = AdvisingSolver(), crowded()
    solver.solve(one)

    with uncollected():
        gc.collect()
        plan = solver.solve(one)
        left = gc.collect()

    assert plan.claims
    assert plan.refused
    assert left == 0
