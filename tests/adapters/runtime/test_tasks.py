from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from treenail.adapters.runtime.tasks import MOST_MENTIONS, ThreadTasks
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.purposes import Purpose, purpose_at_hand
from treenail.domain.model.runtime import Done, Failed

SECONDS = 30.0


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

    def __init__(self, workers: int = 2) -> None:
        self.failures, self.heard = Heard(), Heard()
        self.dropped = 0
        self.tasks = ThreadTasks(failed=self.failures.tell, workers={"shop": workers}, dropped=self._drop)

    def _drop(self) -> None:
        self.dropped += 1

    def run(self, *key: str, call: Callable[[], object], purpose: Purpose = Purpose.PROVISIONING) -> None:
        self.tasks.run(key, call, self.heard, lambda outcome: outcome, purpose=purpose)

    def mention(self, *key: str, what: str) -> None:
        self.tasks.mention(key, what, lambda count: self.heard.tell((what, count)))


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


# --- by urgency


def test_an_eviction_does_not_wait_for_calls_that_hang() -> None:
    bench = Bench(workers=16)
    gates = [Gate() for _ in range(100)]
    for purpose in (Purpose.TELLING, Purpose.HOUSEKEEPING, Purpose.DISRUPTION, Purpose.PROVISIONING):
        for number, gate in enumerate(gates):
            bench.run("shop", purpose.name, str(number), call=gate, purpose=purpose)
    urgent = Gate("evicted")

    bench.run("shop", "pod", call=urgent, purpose=Purpose.INTERRUPTION)

    assert urgent.begun.wait(SECONDS)
    for gate in [urgent, *gates]:
        gate.open.set()
    assert bench.heard.next() is not None
    assert bench.tasks.stop(SECONDS)


def test_all_that_was_asked_for_is_done_whatever_it_is_for() -> None:
    bench = Bench(workers=16)

    for number in range(500):
        for purpose in Purpose:
            bench.run("shop", f"{purpose} {number % 7}", call=partial(int, number), purpose=purpose)

    got = Counter(bench.heard.next().value for _ in range(500 * len(Purpose)))
    assert got == Counter({number: len(Purpose) for number in range(500)})
    assert bench.tasks.stop(SECONDS)


def test_a_call_knows_what_it_is_for(bench: Bench) -> None:
    bench.run("shop", call=purpose_at_hand, purpose=Purpose.INTERRUPTION)
    assert bench.heard.next() == Done(Purpose.INTERRUPTION)

    bench.run("shop", call=purpose_at_hand)
    assert bench.heard.next() == Done(Purpose.PROVISIONING)


# --- mentions


def test_what_is_mentioned_again_before_it_was_told_is_told_once_with_how_often(bench: Bench) -> None:
    gate = Gate()
    bench.run("shop", "a", call=gate)
    for what in ("no room", "no money", "no room", "no room"):
        bench.mention("shop", "a", what=what)

    gate.open.set()
    bench.heard.next()

    assert [bench.heard.next(), bench.heard.next()] == [("no room", 3), ("no money", 1)]
    bench.mention("shop", "a", what="no room")
    assert bench.heard.next() == ("no room", 1)


def test_beyond_so_many_mentions_one_is_dropped_and_counted() -> None:
    bench = Bench(workers=1)
    gate = Gate()
    bench.run("shop", "busy", call=gate)
    assert gate.begun.wait(SECONDS)

    for number in range(MOST_MENTIONS):
        bench.mention("shop", str(number), what="no room")
    assert bench.dropped == 0
    bench.mention("shop", "one too many", what="no room")
    bench.mention("shop", "0", what="no room")  # is counted, which takes no room

    assert bench.dropped == 1
    assert bench.tasks.depths() == {"shop": MOST_MENTIONS + 1}
    gate.open.set()
    bench.heard.next()
    assert bench.heard.next() == ("no room", 2)
    assert [bench.heard.next() for _ in range(MOST_MENTIONS - 1)] == [("no room", 1)] * (MOST_MENTIONS - 1)
    assert bench.tasks.stop(SECONDS)


def test_a_mention_that_fails_is_let_be_and_one_that_is_a_defect_is_not(bench: Bench) -> None:
    error = ValueError("a defect")

    def fail(error: Exception, _: int) -> None:
        raise error

    bench.tasks.mention(("shop", "a"), "away", partial(fail, UnavailableError("away")))
    bench.tasks.mention(("shop", "a"), "defect", partial(fail, error))

    assert bench.failures.next() is error
    bench.mention("shop", "a", what="goes on")
    assert bench.heard.next() == ("goes on", 1)


def test_at_the_end_the_urgent_is_done_before_five_thousand_events() -> None:
    """The controller waits five seconds for what is under way, and drops the rest."""
    bench = Bench(workers=2)
    gates = [Gate(), Gate()]
    for number, gate in enumerate(gates):
        bench.run("shop", "busy", str(number), call=gate)
    for number in range(5_000):
        bench.mention("shop", str(number), what="no room")
    for number in range(20):
        bench.run("shop", "pod", str(number), call=lambda: "evicted", purpose=Purpose.INTERRUPTION)
    for number in range(20):
        bench.run("shop", "claim", str(number), call=lambda: "recorded")

    for gate in gates:
        gate.open.set()
    order = [bench.heard.next() for _ in range(60)]

    assert order.count(Done("evicted")) == 20
    assert order.count(Done("recorded")) == 20
    assert bench.tasks.stop(SECONDS)
