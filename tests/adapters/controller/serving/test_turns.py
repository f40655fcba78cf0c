from __future__ import annotations

from treenail.adapters.controller.serving.turns import Turns


def test_each_source_has_its_turn_and_is_answered_in_order() -> None:
    turns: Turns[int] = Turns()
    for number in range(3):
        turns.put("rogue", number)
    turns.put("api", 10)
    turns.put("api", 11)

    assert [turns.take() for _ in range(5)] == [0, 10, 1, 11, 2]


def test_once_closed_it_gives_nothing_out() -> None:
    turns: Turns[int] = Turns()
    turns.put("api", 1)

    turns.close()

    assert turns.take() is None
