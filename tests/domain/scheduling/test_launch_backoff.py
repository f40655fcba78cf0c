from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at
from treenail.domain.scheduling.launch_backoff import AT_ONCE, LaunchBackoff


def pauses(launch_backoff: LaunchBackoff, times: int, *, chance: float = 0.0) -> list[float]:
    """Return how long a pod waits after each of so many setbacks."""
    found = []
    for _ in range(times):
        launch_backoff.note(["p1"], START, chance)
        until = launch_backoff.until("p1")
        found.append((until - START).total_seconds() if until is not None else 0.0)
    return found


def test_others_are_asked_at_once_and_then_after_longer_and_longer_pauses() -> None:
    assert pauses(LaunchBackoff(), AT_ONCE + 7) == [0.0] * AT_ONCE + [2, 4, 8, 16, 32, 60, 60]


@given(st.integers(1, 60), st.floats(0, 1))
def test_chance_takes_off_half_a_pause_at_most(times: int, chance: float) -> None:
    longest = pauses(LaunchBackoff(), times)[-1]

    assert longest / 2 <= pauses(LaunchBackoff(), times, chance=chance)[-1] <= longest


def test_one_that_need_not_wait_is_reason_enough_to_decide_at_once() -> None:
    launch_backoff = LaunchBackoff()
    pauses(launch_backoff, AT_ONCE)

    assert not launch_backoff.note(["p1"], at(1), 0.0)
    assert launch_backoff.note(["p1", "p2"], at(2), 0.0)
    assert launch_backoff.until("p2") is None


def test_a_pod_that_got_a_node_begins_anew() -> None:
    launch_backoff = LaunchBackoff()
    pauses(launch_backoff, AT_ONCE + 3)

    launch_backoff.forget("p1")

    assert launch_backoff.until("p1") is None
    assert pauses(launch_backoff, 1) == [0.0]
