from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at
from treenail.domain.disruption.window_ends import WindowEnds

NAMES = st.sampled_from("abc")
NOTES = st.lists(st.tuples(NAMES, st.none() | st.integers(0, 20)))


@given(NOTES)
def test_each_node_is_looked_at_once_at_the_last_end_that_was_noted(
    notes: list[tuple[str, int | None]],
) -> None:
    ends = WindowEnds()
    for name, second in notes:
        ends.note(name, None if second is None else at(second), START)
    due = sorted((second, name) for name, second in dict(notes).items() if second)

    assert ends.next() == (at(due[0][0]) if due else None)
    assert ends.take(at(10)) == tuple(name for second, name in due if second <= 10)
    assert ends.take(at(20)) == tuple(name for second, name in due if second > 10)
    assert ends.next() is None


def test_nodes_to_which_pods_come_all_the_time_take_no_more_room_behind_one_that_is_quiet() -> None:
    ends, sizes = WindowEnds(), list[int]()
    ends.note("quiet", at(100_000), START)

    for second in range(1000):
        ends.note("busy", at(200_000 + second), START)
        sizes.append(len(ends._soonest))

    assert max(sizes) < 100
    assert ends.take(at(300_000)) == ("quiet", "busy")


def test_a_node_that_is_gone_has_no_window() -> None:
    ends = WindowEnds()
    ends.note("a", at(5), START)

    ends.forget("a")

    assert (ends.next(), ends.take(at(9))) == (None, ())
