from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.launch.launch_steps import MarkClaim, again, backoff_seconds, first

CALL = "5f1e"


def test_attempts_at_a_step_are_counted_and_are_of_one_step() -> None:
    step = MarkClaim(name="c1", token=CALL)

    tried = again(again(step))

    assert tried == MarkClaim(name="c1", token=CALL, attempt=2)
    assert first(tried) == step


@pytest.mark.parametrize(
    ("attempt", "seconds"),
    [(0, 0.5), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 20), (7, 20), (10_000, 20)],
)
def test_pauses_double_up_to_twenty_seconds(attempt: int, seconds: float) -> None:
    assert backoff_seconds(attempt, 0) == seconds


@given(attempt=st.integers(0, 100), chance=st.floats(0, 1))
def test_chance_shortens_a_pause_by_half_at_most(attempt: int, chance: float) -> None:
    whole = backoff_seconds(attempt, 0)

    assert whole / 2 <= backoff_seconds(attempt, chance) <= whole
