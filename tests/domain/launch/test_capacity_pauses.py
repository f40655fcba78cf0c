"""What ran out is kept from consolidation for longer each time, and never for good."""

from __future__ import annotations

from treenail.domain.launch.capacity_pauses import CapacityPauses
from treenail.domain.model.catalogue_keys import OfferingKey

A: OfferingKey = ("spot", "m5.large", "zone-a")
B: OfferingKey = ("spot", "m5.large", "zone-b")
FOUR_HOURS = 4 * 3600.0


def longest(_low: float, high: float) -> float:
    return high


def test_what_ran_out_is_paused_for_ten_minutes() -> None:
    pauses = CapacityPauses(longest)
    pauses.ran_out((A,), 0)

    assert pauses.paused(599) == {A}
    assert pauses.paused(600) == frozenset()


def test_each_pause_is_twice_as_long_as_the_last_up_to_four_hours() -> None:
    pauses, now, lengths = CapacityPauses(longest), 0.0, []
    for _ in range(8):
        pauses.ran_out((A,), now)
        length = next(n for n in range(0, 5 * 3600, 60) if not pauses.paused(now + n))
        lengths.append(length)
        now += length

    assert lengths == [600, 1200, 2400, 4800, 9600, FOUR_HOURS, FOUR_HOURS, FOUR_HOURS]


def test_what_runs_out_again_within_its_pause_makes_that_no_longer() -> None:
    pauses = CapacityPauses(longest)
    for now in (0, 200, 400):
        pauses.ran_out((A,), now)

    assert pauses.paused(600) == frozenset()


def test_what_was_to_be_had_for_as_long_as_it_was_paused_begins_anew() -> None:
    pauses = CapacityPauses(longest)
    pauses.ran_out((A,), 0)
    pauses.ran_out((A,), 600 + 600)

    assert pauses.paused(1200 + 599) == {A}
    assert pauses.paused(1200 + 600) == frozenset()


def test_what_runs_out_together_is_tried_again_together() -> None:
    pauses = CapacityPauses(lambda low, high: (low + high) / 2)
    pauses.ran_out((A,), 0)
    pauses.ran_out((A, B), 600)

    assert pauses.paused(600 + 1079) == {A, B}
    assert pauses.paused(600 + 1080) == frozenset()


def test_a_fifth_of_each_pause_is_left_to_chance() -> None:
    drawn: list[tuple[float, float]] = []

    def noted(low: float, high: float) -> float:
        drawn.append((low, high))
        return low

    CapacityPauses(noted).ran_out((A,), 0)

    assert drawn == [(480.0, 600.0)]
