from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import pytest

from tests.probes import PlainDice
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.threads import Threads
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.tasks import ThreadTasks
from treenail.adapters.runtime.timers import ThreadTimers
from treenail.domain.model.runtime import Ref
from treenail.domain.telemetry.tracing import SpanContext

SECONDS = 5.0


class Heard:
    """A Ref that hands over what it is told, with the thread that told it."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def tell(self, message: object, /) -> None:
        self._queue.put((message, threading.current_thread().name))

    def next(self) -> Any:
        return self._queue.get(timeout=SECONDS)[0]

    def teller(self) -> str:
        return str(self._queue.get(timeout=SECONDS)[1])

    @property
    def empty(self) -> bool:
        return self._queue.empty()


@dataclass(frozen=True, slots=True)
class Do:
    """Something for a `Doer` to call with itself."""

    what: Callable[[Doer], object]


class Doer(DomainActor[Any]):
    """Does what it is told, or passes it on."""

    def __init__(self, runtime: Runtime, *, heard: Ref[Any], first: Callable[[], object] = str) -> None:
        super().__init__(runtime)
        self._heard = heard
        self._first = first

    def begin(self) -> None:
        self._first()

    def handle(self, message: Any) -> None:
        if isinstance(message, Do):
            message.what(self)
        else:
            self._heard.tell((message, self.carrying().context))


class Other(Doer):
    """Another kind of actor."""


def hold(heard: Heard, let_go: threading.Event) -> Do:
    """Something that keeps an actor busy until it is let go."""

    def what(_: Doer) -> None:
        heard.tell("held")
        let_go.wait(SECONDS)

    return Do(what)


class House:
    """Threads with all that actors stand on."""

    def __init__(self) -> None:
        self.heard, self.failures = Heard(), Heard()
        clock = SystemClock()
        self.timers = ThreadTimers(clock, failed=self.failures.tell)
        self.tasks = ThreadTasks(failed=self.failures.tell)
        self.threads = Threads(clock)
        self.runtime = Runtime(
            timers=self.timers,
            tasks=self.tasks,
            dice=PlainDice(),
            telemetry=RecordingTelemetry(),
            failed=self.failures.tell,
        )

    def doer(self, **more: Any) -> Ref[Any]:
        return self.threads.host(Doer, self.runtime, heard=self.heard, **more)

    def stop(self) -> None:
        assert self.timers.stop(SECONDS)
        assert self.tasks.stop(SECONDS)
        assert self.threads.stop(SECONDS)


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.stop()


def test_each_actor_has_a_thread_of_its_own_and_hears_in_order(house: House) -> None:
    one, two = house.doer(), house.threads.host(Other, house.runtime, heard=house.heard)

    one.tell("a")
    assert "Doer" in house.heard.teller()
    two.tell("b")
    assert "Other" in house.heard.teller()
    for number in range(100):
        one.tell(number)

    assert [house.heard.next()[0] for _ in range(100)] == list(range(100))


def test_refs_to_a_hosted_actor_are_equal(house: House) -> None:
    one = house.doer()
    one.tell(Do(lambda me: house.heard.tell(me.carrying() == one)))

    assert house.heard.next() is True


@pytest.mark.parametrize("error", [ValueError("a defect"), SystemExit(3), KeyboardInterrupt()])
def test_an_exception_that_nobody_expected_is_reported_once(house: House, error: BaseException) -> None:
    def fail(_: Doer) -> None:
        raise error

    actor = house.doer()
    actor.tell(Do(fail))

    assert house.failures.next() is error
    actor.tell("to a dead actor")
    assert house.failures.empty
    assert house.heard.empty


def test_an_exception_before_the_first_message_is_reported(house: House) -> None:
    error = ValueError("no beginning")

    def fail() -> None:
        raise error

    house.doer(first=fail)

    assert house.failures.next() is error


def test_timers_and_tasks_come_back_in_the_span_they_were_asked_for_in(house: House) -> None:
    span = SpanContext.root("sleep")

    def ask(me: Doer) -> None:
        me.within(span)
        me.later("wake", "rung", seconds=0)
        house.tasks.run(("shop",), lambda: 7, me.carrying(), lambda out: ("fetched", out))

    house.doer().tell(Do(ask))
    got = dict([house.heard.next(), house.heard.next()])

    assert list(got.values()) == [span, span]


def test_an_actor_that_is_held_up_is_seen_to_be(house: House) -> None:
    let_go = threading.Event()
    actor = house.doer()
    other = house.threads.host(Other, house.runtime, heard=house.heard)
    actor.tell(hold(house.heard, let_go))
    assert house.heard.next() == "held"
    actor.tell("waits")
    house.threads.beat()
    other.tell(Do(lambda _: house.heard.tell("free")))
    assert house.heard.next() == "free"

    held, free = house.threads.inboxes()
    assert (held.actor, held.depth, free.actor, free.depth) == ("Doer", 2, "Other", 0)
    assert held.silent > 0 == free.silent
    assert house.threads.depth() == house.threads.depth(Doer) == 2
    assert house.threads.depth(Other) == 0

    house.threads.beat()
    assert house.threads.depth(Doer) == 2, "who owes an answer is not asked again"
    let_go.set()
    assert house.heard.next()[0] == "waits"
    actor.tell(Do(lambda _: house.heard.tell("done")))
    assert house.heard.next() == "done"

    held, _ = house.threads.inboxes()
    assert (held.depth, held.silent) == (0, 0)
    assert held.delay > 0


def test_what_waits_is_still_handled_when_the_actors_are_stopped(house: House) -> None:
    last = house.doer()
    first = house.threads.host(Other, house.runtime, heard=last)
    for number in range(50):
        first.tell(number)

    assert house.threads.stop(SECONDS)

    assert [house.heard.next()[0][0] for _ in range(50)] == list(range(50))


def test_actors_that_are_ended_handle_what_waits_and_give_their_threads_back(house: House) -> None:
    stays = house.doer()
    before = set(threading.enumerate())
    doers = [house.doer() for _ in range(100)]
    theirs = set(threading.enumerate()) - before
    assert len(theirs) == len(doers)

    for number, doer in enumerate(doers):
        doer.tell(number)
        house.threads.end(doer)
        doer.tell("too late")
    for thread in theirs:
        thread.join(SECONDS)

    assert not any(thread.is_alive() for thread in theirs)
    assert sorted(house.heard.next()[0] for _ in doers) == list(range(100))
    assert house.heard.empty
    assert house.failures.empty
    assert len(house.threads.inboxes()) == 1
    stays.tell("still there")
    assert house.heard.next()[0] == "still there"


def test_an_actor_that_does_not_end_is_told_of(house: House) -> None:
    let_go = threading.Event()
    house.doer().tell(hold(house.heard, let_go))
    assert house.heard.next() == "held"

    assert not house.threads.stop(0.01)

    let_go.set()
