from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actors.stage import Stage
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.work_queue import WorkQueue
from treenail.domain.model.backoff import Backoff

BACKOFF = Backoff(first=1.0, longest=8.0)


@dataclass(frozen=True, slots=True)
class Look:
    key: str


class Worker(DomainActor[Any]):
    """Notes when it looked at a key; `queue` is for the test to work with."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.queue: WorkQueue[str] = WorkQueue(self, Look, BACKOFF)
        self.looked: list[tuple[float, str]] = []

    def handle(self, message: Any) -> None:
        match message:
            case Look(key=key):
                self.looked.append((self.monotonic(), key))
            case _:
                message()


@dataclass
class Work:
    """A worker that fails as often as it is told to."""

    stage: Stage = field(default_factory=Stage)
    actor: Any = None

    def __post_init__(self) -> None:
        self.ref: Any = self.stage.host(Worker)
        self.actor = self.stage.process.actors[0]

    @property
    def queue(self) -> WorkQueue[str]:
        return self.actor.queue  # type: ignore[no-any-return]

    def do(self, call: Any) -> None:
        self.ref.tell(call)
        self.stage.run(0)

    def looked(self) -> list[str]:
        return [key for _, key in self.actor.looked]


def test_a_key_is_busy_from_the_beginning_of_a_call_to_its_end() -> None:
    queue = Work().queue

    queue.begin("a")
    assert (queue.busy("a"), queue.busy("b")) == (True, False)
    queue.end("a")

    assert not queue.busy("a")


def test_what_failed_is_looked_at_again_after_growing_pauses() -> None:
    work, pauses = Work(), []
    for _ in range(6):
        began = work.actor.monotonic()
        work.do(lambda: work.queue.retry("a"))
        work.stage.run(8)
        pauses.append(work.actor.looked[-1][0] - began)

    assert len(work.looked()) == 6
    for pause, most in zip(pauses, [1, 2, 4, 8, 8, 8], strict=True):
        assert most / 2 <= pause <= most


def test_many_failures_while_a_retry_is_waited_for_are_one() -> None:
    work = Work()

    for _ in range(20):
        work.do(lambda: work.queue.retry("a"))

    assert work.queue.failures("a") == 1
    assert work.queue.waiting("a")
    work.stage.run(60)
    assert work.looked() == ["a"]
    assert not work.queue.waiting("a")


def test_a_retry_that_news_put_off_still_comes_when_it_fails_again() -> None:
    work = Work()
    work.do(lambda: work.queue.retry("a"))
    work.do(lambda: work.queue.rest("a"))

    work.do(lambda: work.queue.retry("a"))
    work.stage.run(1)

    assert work.looked() == ["a"]
    assert work.queue.failures("a") == 1


def test_a_success_makes_the_next_failure_a_first_one() -> None:
    work = Work()
    work.do(lambda: work.queue.retry("a"))
    work.do(lambda: work.queue.succeeded("a"))

    assert (work.queue.failures("a"), work.queue.waiting("a")) == (0, False)


def test_a_later_look_takes_the_place_of_an_earlier_one() -> None:
    work = Work()

    work.do(lambda: work.queue.again("a", 1))
    work.do(lambda: work.queue.again("a", 5))
    work.stage.run(4)
    assert work.looked() == []
    work.stage.run(2)

    assert work.looked() == ["a"]


def test_a_key_that_is_forgotten_is_not_looked_at_and_its_call_still_ends() -> None:
    work = Work()
    work.do(lambda: work.queue.begin("a"))
    work.do(lambda: work.queue.retry("a"))

    work.do(lambda: work.queue.forget("a"))
    work.stage.run(60)

    assert work.looked() == []
    assert work.queue.busy("a")
    work.queue.end("a")
    assert (work.queue.busy("a"), work.queue.failures("a")) == (False, 0)


@given(failed=st.lists(st.sampled_from("abc"), max_size=12))
def test_keys_have_nothing_to_do_with_one_another(failed: list[str]) -> None:
    work = Work()
    for key in failed:
        work.do(lambda key=key: work.queue.retry(key))
        work.stage.run(20)

    assert work.looked() == failed
    assert {key: work.queue.failures(key) for key in "abc"} == {key: failed.count(key) for key in "abc"}


@pytest.mark.parametrize("seconds", [0.0, 0.5, 30.0])
def test_a_look_comes_when_it_was_asked_for(seconds: float) -> None:
    work = Work()
    began = work.actor.monotonic()

    work.do(lambda: work.queue.again("a", seconds))
    work.stage.run(seconds + 1)

    assert work.actor.looked == [(began + seconds, "a")]
