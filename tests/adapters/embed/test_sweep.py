from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.embed.seed_results import result
from treenail.adapters.embed.fail_conditions import fail_condition
from treenail.adapters.embed.sweep import Distribution, Sweep, WorstSeed, as_json


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_distribution_has_values_that_occurred_in_order(costs: list[float]) -> None:
    found = Distribution.of("cost", [result(seed, cost=cost) for seed, cost in enumerate(costs)])

    assert found is not None
    numbers = [found.least, found.median, found.p90, found.most]
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(costs)
    assert (found.least, found.most) == (min(costs), max(costs))
    assert sum(cost <= found.p90 for cost in costs) >= 0.9 * len(costs)
    if found.worst is None:
        assert len(set(costs)) == 1
    else:
        assert found.worst == costs.index(max(costs))


def test_seeds_without_a_wait_are_left_out_of_its_distribution() -> None:
    waits = [result(1, p99_wait=None), result(2, p99_wait=5.0), result(3, p99_wait=9.0)]

    assert Distribution.of("p99Wait", waits) == Distribution(5.0, 5.0, 9.0, 9.0, 3)
    assert Distribution.of("p99Wait", waits[:1]) is None


def test_the_worst_seeds_are_named_once_with_all_that_is_bad_with_them() -> None:
    sweep = Sweep(
        (result(1), result(2, evictions=7, cost=2.5), result(3, pending=4)),
        conditions=(fail_condition("pending>0"), fail_condition("cost>9")),
    )

    assert sweep.worst() == (
        WorstSeed(3, "a", ("pending>0", "pods waiting at the end 4")),
        WorstSeed(2, "a", ("cost $2.50", "evictions 7")),
    )
    assert [(f"{condition}", side, seeds) for condition, side, seeds in sweep.failed()] == [
        ("pending>0", "a", (3,))
    ]


def test_where_all_seeds_are_alike_none_is_worst() -> None:
    assert Sweep((result(1), result(2))).worst() == ()


def test_of_many_seeds_that_fail_the_first_five_are_to_be_repeated() -> None:
    sweep = Sweep(tuple(result(n, pending=1) for n in range(20)), conditions=(fail_condition("pending>0"),))

    assert [one.seed for one in sweep.worst()] == [0, 1, 2, 3, 4]
    assert [seeds for _, _, seeds in sweep.failed()] == [tuple(range(20))]


def test_two_sides_are_held_against_each_other_seed_by_seed() -> None:
    sweep = Sweep(
        (result(1, cost=2.0), result(2, cost=2.0), result(3, cost=2.0)),
        (result(1, cost=1.0), result(2, cost=2.0), result(3, cost=2.5)),
    )
    found: Any = as_json(sweep, {})

    assert sweep.against("cost") == (1, 1)
    assert list(sweep.verdict()) == [
        "B costs 8.3% less: $1.83 against $2.00",
        "B costs less than A with 1 of 3 seeds, and more with 1",
    ]
    assert found["cheaper"] == "b"
    assert (found["b"]["cost"]["lower"], found["b"]["cost"]["higher"]) == (1, 1)
    assert [(one["seed"], one["a"]["cost"], one["b"]["cost"]) for one in found["seeds"]] == [
        (1, 2.0, 1.0),
        (2, 2.0, 2.0),
        (3, 2.0, 2.5),
    ]


def test_an_action_that_some_seeds_cannot_do_is_told_with_their_number() -> None:
    skipped = ((300.0, "spot-interruption", "there is none"),)
    sweep = Sweep((result(1), result(2, skipped=skipped), result(3, skipped=skipped)))

    assert list(sweep.skipped()) == [
        "at 300 s spot-interruption: not done with 2 of 3 seeds, with seed 2 because there is none"
    ]
