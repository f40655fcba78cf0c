from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from tests.actors.clockwork import clockwork
from tests.actors.stage import Stage
from tests.builders import START
from tests.probes import Probe
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.world import NotSettledError, Process, SeededDice, World
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref


@dataclass(frozen=True, slots=True)
class Say:
    """Pass `word` on."""

    word: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """Make a call that returns `word`, or fails."""

    word: str
    key: tuple[str, ...] = ("shop",)
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A call came back."""

    outcome: Outcome[str]


Inbox: TypeAlias = Say | Fetch | Fetched


class Parrot(DomainActor[Inbox]):
    """Repeats what it hears; fetches what it is asked to; notes the calls that were carried out."""

    def __init__(self, runtime: Runtime, *, friend: Ref[str]) -> None:
        super().__init__(runtime)
        self._friend = friend
        self.carried_out: list[str] = []

    def handle(self, message: Inbox) -> None:
        match message:
            case Say(word=word):
                self._friend.tell(word)
            case Fetched(outcome=Done(value=word)):
                self._friend.tell(f"{self._timers.monotonic():.1f} {word}")
            case Fetched(outcome=failed):
                assert isinstance(failed, Failed)
                self._friend.tell(f"{self._timers.monotonic():.1f} {failed.error}")
            case Fetch():
                self._tasks.run(message.key, lambda: self._call(message), self.me, Fetched)

    def _call(self, fetch: Fetch) -> str:
        self.carried_out.append(fetch.word)
        if fetch.error is not None:
            raise fetch.error
        return fetch.word


def parrot(stage: Stage) -> tuple[Any, Probe]:
    heard = Probe()
    return stage.host(lambda runtime: Parrot(runtime, friend=heard)), heard


# --- order and chance


def conversation(seed: int) -> list[str]:
    """Six actors are told three words each; return the order in which they are heard."""
    stage, heard = Stage(seed=seed), Probe()
    for name in "abcdef":
        actor = stage.host(lambda runtime: Parrot(runtime, friend=heard))
        for n in range(3):
            actor.tell(Say(f"{name}{n}"))
    stage.run(1)
    return heard.received


def test_equal_seeds_give_equal_histories() -> None:
    assert conversation(1) == conversation(1)


def test_other_seeds_give_other_histories() -> None:
    assert len({tuple(conversation(seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize("seed", range(5))
def test_each_actor_hears_in_the_order_it_was_told(seed: int) -> None:
    heard = conversation(seed)

    for name in "abcdef":
        assert [word for word in heard if word[0] == name] == [f"{name}{n}" for n in range(3)]


def test_dice_of_equal_seeds_fall_alike() -> None:
    first, second = SeededDice(random.Random(3)), SeededDice(random.Random(3))

    assert first.uniform(1, 2) == second.uniform(1, 2)
    token = first.token()
    assert token == second.token() != first.token()
    assert len(token) == 10
    assert int(token, 16) >= 0


# --- time


def test_time_stands_still_while_messages_are_handled_and_jumps_to_what_is_due() -> None:
    stage = Stage()
    seen: list[float] = []
    for seconds in (5, 1, 3):
        stage.at(seconds, lambda: seen.append(stage.seconds))

    stage.run(10)

    assert seen == [1, 3, 5]
    assert stage.seconds == 10
    assert stage.now() == START + timedelta(seconds=10)


def test_what_is_due_at_one_instant_is_done_in_the_order_it_was_asked_for() -> None:
    stage, seen = Stage(), Probe()

    for n in range(5):
        stage.send(1, seen, n)
    stage.run(1)

    assert seen.received == [0, 1, 2, 3, 4]


def test_what_is_past_is_due_now() -> None:
    world, seen = World(0), Probe()
    world.run(until=5)

    world.call_at(1, lambda: seen.tell(world.monotonic()))
    world.run(until=5)

    assert seen.received == [5]


def test_nothing_is_done_after_the_end() -> None:
    stage, seen = Stage(), Probe()

    stage.at(2, lambda: seen.tell("late"))
    stage.run(1.9)

    assert seen.received == []
    assert stage.seconds == 1.9


def test_a_run_ends_when_its_condition_holds() -> None:
    stage, seen = Stage(), Probe()
    for n in range(5):
        stage.at(n, lambda: seen.tell("tick"))

    assert stage.world.run_until(lambda: len(seen.received) == 3, at_most=60)
    assert stage.seconds == 2
    assert not stage.world.run_until(lambda: len(seen.received) == 9, at_most=60)
    assert stage.seconds == 60
    assert stage.world.run_until(lambda: stage.seconds == 70, at_most=70)


def test_every_step_is_checked() -> None:
    stage, checked = Stage(), Probe()
    actor, _ = parrot(stage)
    stage.world.after_step.append(lambda: checked.tell(stage.seconds))

    actor.tell(Say("hello"))
    stage.at(2, lambda: actor.tell(Say("again")))
    stage.run(5)

    assert checked.received == [0, 2, 2]


class Echo(DomainActor[Say]):
    """Says everything to itself again, at once or (`every`) a while later."""

    def __init__(self, runtime: Runtime, *, every: float = 0) -> None:
        super().__init__(runtime)
        self._every = every

    def handle(self, message: Say) -> None:
        if self._every:
            self.later("again", message, seconds=self._every)
        else:
            self.me.tell(message)


def world_of(echo: float, *, most: int) -> World:
    world = World(0, max_steps_per_instant=most)
    process = Process(world, latency=lambda _: (0, 0))
    stage = Stage()
    runtime = Runtime(
        timers=process, tasks=process, dice=SeededDice(world.dice), telemetry=stage.telemetry, failed=print
    )
    process.host(Echo, runtime, every=echo).tell(Say("again"))
    return world


def test_messages_without_end_are_found_out() -> None:
    world = world_of(0, most=100)

    with pytest.raises(NotSettledError, match=r"100 messages at 0\.0 s without time going by"):
        world.run(until=1)


def test_messages_without_end_are_fine_while_time_goes_by() -> None:
    world = world_of(0.1, most=10)

    world.run(until=100)

    assert world.steps > 900


# --- tasks


def test_tasks_of_one_key_run_one_after_the_other_in_order() -> None:
    stage = Stage()
    actor, heard = parrot(stage)

    for word in ("one", "two", "three"):
        actor.tell(Fetch(word))
    stage.run(5)

    assert heard.received == ["0.2 one", "0.4 two", "0.6 three"]


def test_tasks_of_different_keys_run_in_parallel() -> None:
    stage = Stage()
    stage.slow["slow",] = 3
    actor, heard = parrot(stage)

    actor.tell(Fetch("one", key=("slow",)))
    actor.tell(Fetch("two", key=("fast",)))
    stage.run(5)

    assert heard.received == ["0.2 two", "3.1 one"]


def test_a_task_that_fails_lets_the_next_one_run() -> None:
    stage = Stage()
    actor, heard = parrot(stage)

    actor.tell(Fetch("one", error=UnavailableError("closed")))
    actor.tell(Fetch("two"))
    stage.run(5)

    assert heard.received == ["0.2 closed", "0.4 two"]


def test_an_error_no_port_documents_is_a_defect() -> None:
    stage = Stage()
    actor, _ = parrot(stage)

    actor.tell(Fetch("one", error=KeyError("a defect")))

    with pytest.raises(KeyError, match="a defect"):
        stage.run(5)


# --- death


def test_a_killed_process_hears_nothing() -> None:
    stage = Stage()
    actor, heard = parrot(stage)
    actor.tell(Say("waiting"))
    actor.tell(Fetch("asked for"))

    stage.process.kill()
    actor.tell(Say("too late"))
    stage.run(5)

    assert not stage.process.alive
    assert heard.received == []


def test_timers_and_answers_of_a_killed_process_are_lost() -> None:
    stage = Stage()
    rung = clockwork(stage, "a 5")
    actor, heard = parrot(stage)
    actor.tell(Fetch("one"))
    stage.run(0.15)

    stage.process.kill()
    stage.run(10)

    assert (heard.received, rung.received) == ([], [])


def test_calls_a_killed_process_has_sent_may_still_be_carried_out() -> None:
    def carried_out(seed: int) -> bool:
        stage = Stage(seed=seed)
        actor, _ = parrot(stage)
        actor.tell(Fetch("sent"))
        actor.tell(Fetch("not sent yet"))
        stage.run(0.05)
        hosted = stage.process.actors[0]
        assert isinstance(hosted, Parrot)
        stage.process.kill()
        stage.run(5)
        assert "not sent yet" not in hosted.carried_out
        return "sent" in hosted.carried_out

    assert {carried_out(seed) for seed in range(20)} == {True, False}


def test_other_processes_go_on_when_one_is_killed() -> None:
    stage = Stage()
    first, _ = parrot(stage)
    first.tell(Say("lost"))
    stage.kill()
    second, heard = parrot(stage)

    second.tell(Say("heard"))
    stage.run(1)

    assert heard.received == ["heard"]
    assert stage.process.alive


def test_a_tap_sees_every_message_before_it_is_handled() -> None:
    stage, seen = Stage(), Probe()
    actor, heard = parrot(stage)
    stage.process.taps.append(lambda to, message: seen.tell((type(to).__name__, message)))

    actor.tell(Say("hello"))

    assert seen.received == [("Parrot", Say("hello"))]
    assert heard.received == []


class Glass(DomainActor[str]):
    """Breaks at the word "break"; notes every other word."""

    def __init__(self, runtime: Runtime, *, heard: Ref[str]) -> None:
        super().__init__(runtime)
        self._heard = heard

    def handle(self, message: str) -> None:
        if message == "break":
            raise ZeroDivisionError(message)
        self._heard.tell(message)


def test_an_actor_that_raises_is_reported_and_hears_no_more_as_on_threads() -> None:
    world, heard, failed = World(seed=1), Probe(), list[BaseException]()
    process = Process(world, latency=lambda _: (0.0, 0.0))
    dice = SeededDice(random.Random(1))
    telemetry = RecordingTelemetry()
    runtime = Runtime(timers=process, tasks=process, dice=dice, telemetry=telemetry, failed=failed.append)
    glass, other = (process.host(Glass, runtime, heard=heard) for _ in range(2))

    for word in ("before", "break", "after"):
        glass.tell(word)
    other.tell("other")
    world.run(until=1)
    glass.tell("late")
    world.run(until=2)

    assert sorted(heard.received) == ["before", "other"]
    assert [str(error) for error in failed] == ["break"]
