from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from treenail.adapters.runtime.tasks import ThreadTasks
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.runtime import Done, Failed

SECONDS = 5.0


class Heard:
    """A Ref that hands over what it is told."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def tell(self, message: object, /) -> None:
        self._queue.put(message)

    def next(self) -> Any:
        return self._queue.get(timeout=SECONDS)

    @property
    def empty(self) -> bool:
        return self._queue.empty()


class Gate:
    """A call that goes on when it is let."""

    def __init__(self, value: object = None) -> None:
        self.begun, self.open = threading.Event(), threading.Event()
        self._value = value

    def __call__(self) -> object:
        self.begun.set()
        self.open.wait(SECONDS)
        return self._value


class Bench:
    """Tasks with two workers a port, and what came of them."""

    def __init__(self) -> None:
        self.failures, self.heard = Heard(), Heard()
        self.tasks = ThreadTasks(failed=self.failures.tell, workers={"shop": 2})

    def run(self, *key: str, call: Callable[[], object]) -> None:
        self.tasks.run(key, call, self.heard, lambda outcome: outcome)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    assert bench.tasks.stop(SECONDS)


def test_the_outcome_of_a_call_is_told(bench: Bench) -> None:
    def away() -> None:
        raise error

    error = UnavailableError("away")
    bench.run("shop", call=lambda: 7)
    assert bench.heard.next() == Done(7)

    bench.run("shop", call=away)
    assert bench.heard.next() == Failed(error)


def test_calls_of_one_key_are_made_in_order_and_never_at_once(bench: Bench) -> None:
    gate = Gate("first")
    bench.run("shop", "a", call=gate)
    bench.run("shop", "a", call=lambda: "second")
    bench.run("shop", "b", call=lambda: "other")

    assert bench.heard.next() == Done("other")
    assert bench.heard.empty
    gate.open.set()
    assert [bench.heard.next(), bench.heard.next()] == [Done("first"), Done("second")]


def test_different_keys_go_on_beside_each_other_also_when_workers_are_idle(bench: Bench) -> None:
    bench.run("shop", "a", call=lambda: "warm")
    assert bench.heard.next() == Done("warm")
    gates = [Gate(), Gate()]

    for number, gate in enumerate(gates):
        bench.run("shop", str(number), call=gate)

    assert all(gate.begun.wait(SECONDS) for gate in gates)
    for gate in gates:
        gate.open.set()


def test_a_port_has_no_more_calls_under_way_than_workers(bench: Bench) -> None:
    gates = [Gate(number) for number in range(3)]
    for number, gate in enumerate(gates):
        bench.run("shop", str(number), call=gate)
    assert gates[0].begun.wait(SECONDS)
    assert gates[1].begun.wait(SECONDS)

    assert not gates[2].begun.wait(0.02)
    assert bench.tasks.depths() == {"shop": 3}

    gates[0].open.set()
    assert gates[2].begun.wait(SECONDS)
    for gate in gates:
        gate.open.set()
    assert sorted(bench.heard.next().value for _ in range(3)) == [0, 1, 2]


def test_a_port_that_is_held_up_holds_up_no_other(bench: Bench) -> None:
    gates = [Gate(), Gate()]
    for number, gate in enumerate(gates):
        bench.run("shop", str(number), call=gate)

    bench.run("bank", call=lambda: "quick")

    assert bench.heard.next() == Done("quick")
    for gate in gates:
        gate.open.set()


@pytest.mark.parametrize("error", [ValueError("a defect"), SystemExit(3)])
def test_any_other_exception_is_a_defect_and_no_outcome(bench: Bench, error: BaseException) -> None:
    def fail() -> None:
        raise error

    bench.run("shop", call=fail)
    assert bench.failures.next() is error

    bench.run("shop", call=lambda: "goes on")
    assert bench.heard.next() == Done("goes on")
    assert bench.heard.empty


def test_an_outcome_that_nothing_can_be_made_of_is_a_defect(bench: Bench) -> None:
    error = ValueError("no message")

    def fail(_: object) -> object:
        raise error

    bench.tasks.run(("shop",), lambda: 7, bench.heard, fail)

    assert bench.failures.next() is error


def test_a_hundred_calls_in_ten_keys_all_come_back_in_the_order_of_their_keys(bench: Bench) -> None:
    def number_of(outcome: Any) -> int:
        return int(outcome.value)

    for number in range(100):
        bench.tasks.run(("shop", str(number % 10)), partial(int, number), bench.heard, number_of)
    got = [bench.heard.next() for _ in range(100)]

    assert [[n for n in got if n % 10 == key] for key in range(10)] == [
        list(range(key, 100, 10)) for key in range(10)
    ]


def test_stopping_waits_for_what_is_under_way_and_begins_nothing_more(bench: Bench) -> None:
    gates = [Gate("begun"), Gate("begun")]
    for key, gate in zip("ab", gates, strict=True):
        bench.run("shop", key, call=gate)
        bench.run("shop", key, call=lambda: "behind it")
    bench.run("shop", "c", call=lambda: "no worker is free")
    assert all(gate.begun.wait(SECONDS) for gate in gates)

    assert not bench.tasks.stop(0.01)
    for gate in gates:
        gate.open.set()
    assert bench.tasks.stop(SECONDS)
    bench.run("shop", call=lambda: "after the end")

    assert [bench.heard.next(), bench.heard.next()] == [Done("begun"), Done("begun")]
    assert bench.heard.empty
    assert bench.tasks.depths() == {"shop": 0}
