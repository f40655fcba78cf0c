from __future__ import annotations

from tests.builders import DEFAULT_CLASS
from treenail.domain.launch.circuit_breaker import CircuitBreaker
from treenail.domain.launch.launch_steps import CallFleet
from treenail.domain.model.node_classes import NodeClassRef

OTHER = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "other")
FIRST, SECOND = (CallFleet(token=name) for name in ("first", "second"))


def failing(times: int = 4) -> CircuitBreaker:
    brake = CircuitBreaker()
    for _ in range(times):
        brake.failed(DEFAULT_CLASS)
    return brake


def test_some_failures_hold_nothing_back() -> None:
    assert not failing(3).holds(DEFAULT_CLASS, FIRST)


def test_calls_of_a_class_that_nobody_answers_wait_and_those_of_others_do_not() -> None:
    brake = failing()

    assert brake.holds(DEFAULT_CLASS, FIRST)
    assert not brake.holds(OTHER, SECOND)


def test_an_answer_lets_all_go() -> None:
    brake = failing()
    brake.holds(DEFAULT_CLASS, FIRST)
    brake.holds(DEFAULT_CLASS, SECOND)

    assert brake.answered(DEFAULT_CLASS) == (FIRST, SECOND)
    assert not brake.holds(DEFAULT_CLASS, FIRST)
    assert brake.answered(DEFAULT_CLASS) == ()


def test_of_those_that_wait_one_at_a_time_is_tried_after_ever_longer_pauses() -> None:
    brake = failing()
    pauses = []
    for _ in range(7):
        brake.holds(DEFAULT_CLASS, FIRST)
        pauses.append(brake.pause(DEFAULT_CLASS, 0))
        assert brake.pause(DEFAULT_CLASS, 0) is None
        assert brake.probe(DEFAULT_CLASS, wanted=bool) == FIRST
        assert brake.probe(DEFAULT_CLASS, wanted=bool) is None

    assert pauses == [2, 4, 8, 16, 30, 30, 30]


def test_pauses_are_shorter_by_a_quarter_at_most() -> None:
    brake = failing()
    brake.holds(DEFAULT_CLASS, FIRST)

    assert brake.pause(DEFAULT_CLASS, 1) == 1.5


def test_where_nobody_waits_there_is_nothing_to_try() -> None:
    assert failing().pause(DEFAULT_CLASS, 0) is None
    assert CircuitBreaker().pause(DEFAULT_CLASS, 0) is None
    assert CircuitBreaker().probe(DEFAULT_CLASS, wanted=bool) is None


def test_calls_that_nobody_wants_any_more_are_not_tried() -> None:
    brake = failing()
    brake.holds(DEFAULT_CLASS, FIRST)
    brake.holds(DEFAULT_CLASS, SECOND)

    assert brake.probe(DEFAULT_CLASS, wanted=lambda token: token == SECOND.token) == SECOND
    assert brake.probe(DEFAULT_CLASS, wanted=bool) is None
