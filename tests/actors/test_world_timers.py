from __future__ import annotations

import pytest

from tests.actors.clockwork import Clockwork, Say, clockwork
from tests.actors.stage import Stage
from tests.probes import Probe


@pytest.mark.parametrize(
    ("words", "rung"),
    [
        pytest.param(("a 5", "b 3"), ["3 b", "5 a"], id="each at its time"),
        pytest.param(("a 5", "a 3"), ["3 a"], id="the later arming takes the place of the earlier"),
        pytest.param(("a 3", "a 5"), ["5 a"], id="also where it is later"),
        pytest.param(("a 5", "a", "b 3", "c"), ["3 b"], id="what is taken back does not ring"),
    ],
)
def test_timers_ring(words: tuple[str, ...], rung: list[str]) -> None:
    stage = Stage()

    heard = clockwork(stage, *words)
    stage.run(10)

    assert heard.received == rung


def test_timers_of_different_actors_do_not_mix() -> None:
    stage = Stage()

    one, two = clockwork(stage, "a 5"), clockwork(stage, "a 3", "a")
    stage.run(10)

    assert (one.received, two.received) == (["5 a"], [])


def test_a_timer_rings_once_and_may_be_armed_again() -> None:
    stage = Stage()
    heard = Probe()
    actor = stage.host(lambda runtime: Clockwork(runtime, heard=heard))

    actor.tell(Say("a 1"))
    stage.run(2)
    actor.tell(Say("a 1"))
    stage.run(2)

    assert heard.received == ["1 a", "3 a"]
