"""Emptiest first: which pods of a move a scheduler that prefers the emptiest node leaves without a place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.consolidation.emptiest_first import PodsToPlace, crowded_out

# CPU, memory and pods of two nodes.
WHOLE: Floats = np.array([[7.9, 32.0, 50.0], [3.9, 16.0, 50.0]])


def to_place(
    cpu: float, planned: Mapping[int, int], *, index: int = 0, bound: bool = False, size: float | None = None
) -> PodsToPlace:
    return PodsToPlace(
        index=index,
        requests=np.array([cpu, 1.0, 1.0]),
        planned=planned,
        may_go=None if bound else np.array([0, 1]),
        size=cpu if size is None else size,
    )


def test_pods_that_fit_wherever_they_go_all_have_a_place() -> None:
    assert crowded_out(WHOLE, WHOLE, (to_place(1.0, {0: 7, 1: 3}),)) == {}


def test_two_large_pods_on_the_emptiest_node_leave_no_place_for_the_last_small_one() -> None:
    small, large = to_place(1.0, {0: 4}, index=7), to_place(3.6, {0: 1, 1: 1})

    assert crowded_out(WHOLE, WHOLE, (small, large)) == {7: 1}


def test_pods_that_rules_bind_count_where_they_are_planned() -> None:
    small, large = to_place(1.0, {0: 4}), to_place(3.6, {0: 1, 1: 1}, index=1, bound=True)

    assert crowded_out(WHOLE, WHOLE, (small, large)) == {}


def test_a_pod_that_is_evicted_first_takes_the_emptiest_node_though_another_fits_only_there() -> None:
    free = np.array([[3.0, 16.0, 50.0], [3.9, 16.0, 50.0]])

    def left(*, size: float) -> dict[int, int]:
        small, large = to_place(1.0, {0: 1}, size=size), to_place(3.5, {1: 1}, index=1)
        return crowded_out(free, WHOLE, (small, large))

    assert left(size=1.0) == {}
    assert left(size=4.0) == {1: 1}
