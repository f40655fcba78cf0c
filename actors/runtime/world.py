"""The world: unmodified actors on one thread, in virtual time, in a seeded order.

A `World` holds the time and everything due; a `Process` in it hosts actors as a controller's process
would, and can be killed like one while the world outside goes on.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, ParamSpec, TypeAlias, TypeVar

from treenail.actors.runtime.base import Delivery, DomainActor, NullRef, Wired
from treenail.domain.model.errors import PortError
from treenail.domain.model.purposes import BY_DEFAULT, Purpose, calling_for
from treenail.domain.model.runtime import Clock, Done, Failed, Outcome, Ref, TaskKey, TimerKey

R = TypeVar("R")
M = TypeVar("M")
P = ParamSpec("P")

# Seconds a call takes to its server, and its answer back.
Latency: TypeAlias = Callable[[TaskKey], tuple[float, float]]
Tap: TypeAlias = Callable[[DomainActor[Any], Any], None]

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_CHANCE_A_SENT_CALL_ARRIVES = 0.5


class NotSettledError(Exception):
    """Messages kept causing messages without time going by."""


class World:
    """Virtual time, and the things due in it. Equal seeds give equal histories.

    Also the `Agenda` of whatever simulates the outside.
    """

    def __init__(
        self, seed: int, *, start: datetime = _EPOCH, max_steps_per_instant: int = 1_000_000
    ) -> None:
        self.dice = random.Random(seed)  # noqa: S311
        self.steps = 0
        self.after_step: list[Callable[[], None]] = []
        self._start = start
        self._seconds = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._waiting: list[_Inbox] = []
        self._max_steps = max_steps_per_instant

    def now(self) -> datetime:
        """Return the virtual time of day."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return self._seconds

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        """Call `call` at second `at` (now, where that is past), after what was due before it."""
        heapq.heappush(self._due, (max(at, self._seconds), next(self._order), call))

    # Pytest leaves frames of functions that only pass on an error out, where they say so.

    def run(self, *, until: float) -> None:
        """Let time pass up to second `until`."""
        __tracebackhide__ = True
        while self.step(until=until):
            pass
        self._seconds = max(self._seconds, until)

    def run_until(self, condition: Callable[[], bool], *, at_most: float) -> bool:
        """Let time pass until `condition` holds, at most to second `at_most`; return whether it did."""
        __tracebackhide__ = True
        while not condition():
            if not self.step(until=at_most):
                self._seconds = max(self._seconds, at_most)
                return condition()
        return True

    def step(self, *, until: float) -> bool:
        """Handle one message, or else do the next thing due by `until`; False where there is neither."""
        __tracebackhide__ = True
        if self._waiting:
            self._handle_one()
        elif self._due and self._due[0][0] <= until:
            at, _, call = heapq.heappop(self._due)
            if at > self._seconds:
                self._seconds, self._instant_began = at, self.steps
            call()
        else:
            return False
        for check in self.after_step:
            check()
        return True

    _instant_began = 0

    def _handle_one(self) -> None:
        self.steps += 1
        if self.steps - self._instant_began > self._max_steps:
            raise NotSettledError(f"{self._max_steps} messages at {self._seconds} s without time going by")
        chosen = int(self.dice.random() * len(self._waiting))
        inbox = self._waiting[chosen]
        delivery = inbox.messages.popleft()
        if not inbox.messages:
            self._waiting[chosen] = self._waiting[-1]
            self._waiting.pop()
        try:
            inbox.actor.on_receive(delivery)
        except Exception as error:  # noqa: BLE001
            inbox.process.bury(inbox, error)

    def wake(self, inbox: _Inbox) -> None:
        """Note that `inbox` holds a message again."""
        self._waiting.append(inbox)

    def drop(self, inbox: _Inbox) -> None:
        """Let nothing wait in `inbox` any more."""
        self._waiting = [one for one in self._waiting if one is not inbox]

    def forget(self, process: Process) -> None:
        """Drop what waits in the inboxes of a process that is no more."""
        self.stop_handling(process)

    def stop_handling(self, process: Process) -> list[_Inbox]:
        """Let what waits in the inboxes of a process wait on; return these, to be woken."""
        stopped = [inbox for inbox in self._waiting if inbox.process is process]
        self._waiting = [inbox for inbox in self._waiting if inbox.process is not process]
        return stopped


class _Inbox:
    """The queue of one hosted actor's messages."""

    __slots__ = ("actor", "messages", "process")

    def __init__(self, actor: DomainActor[Any], process: Process) -> None:
        self.actor = actor
        self.process = process
        self.messages: deque[Delivery[Any]] = deque()


class Process:
    """A host for actors that can die: their timers, their inboxes and the answers they wait for with it.

    It is the `Timers` and `Tasks` of its actors, whose time of day `clock` tells, by default the world's.
    """

    def __init__(self, world: World, *, latency: Latency, clock: Clock | None = None) -> None:
        self._world = world
        self._clock: Clock = world if clock is None else clock
        self._latency = latency
        self._alive = True
        self._armed: dict[tuple[Ref[Any], TimerKey], int] = {}
        self._arming = count()
        self._queues: dict[TaskKey, deque[Callable[[], None]]] = {}
        self._mentioned: dict[tuple[TaskKey, Hashable], int] = {}
        self.taps: list[Tap] = []
        self.actors: list[DomainActor[Any]] = []
        self._ended: dict[str, None] = {}
        # What waits for a frozen process, None where it is not frozen.
        self._frozen: list[Callable[[], None]] | None = None
        self._stopped: list[_Inbox] = []

    def host(self, make: Callable[P, DomainActor[Any]], *args: P.args, **kwargs: P.kwargs) -> Wired[Any]:
        """Make an actor, leave it unstarted, and return where to reach it."""
        actor = make(*args, **kwargs)
        inbox = _Inbox(actor, self)
        self.actors.append(actor)
        actor.me = Wired(partial(self._put, inbox), actor.actor_urn)
        actor.on_start()
        return actor.me

    def _put(self, inbox: _Inbox, delivery: Delivery[Any]) -> None:
        if not self._alive or inbox.actor.actor_urn in self._ended:
            return
        for tap in self.taps:
            tap(inbox.actor, delivery.message)
        if self._frozen is not None:
            self._frozen.append(partial(self._put, inbox, delivery))
            return
        inbox.messages.append(delivery)
        if len(inbox.messages) == 1:
            self._world.wake(inbox)

    def bury(self, inbox: _Inbox, error: Exception) -> None:
        """Let an actor that raised be dead, with what waits for it, and report it, as on threads.

        Whoever gets the report (`Runtime.failed`) may raise it: then it ends the run of the world.
        """
        self.end(inbox.actor.me)
        inbox.messages.clear()
        self._world.drop(inbox)
        inbox.actor.on_failure(type(error), error, error.__traceback__)

    def end(self, ref: Ref[Any]) -> None:
        """Let an actor handle what waits, and nothing more."""
        for actor in [actor for actor in self.actors if actor.me == ref]:
            self.actors.remove(actor)
            self._ended[actor.actor_urn] = None

    def kill(self) -> None:
        """End at once, as by SIGKILL. Calls already sent may still be carried out, unheard."""
        self._alive = False
        self._world.forget(self)

    def freeze(self, *, until: float) -> None:
        """Do nothing before second `until`, as by SIGSTOP. Calls already sent are carried out meanwhile."""
        if self._frozen is None:
            self._frozen = []
            self._stopped = self._world.stop_handling(self)
            self._world.call_at(until, self._thaw)

    def _thaw(self) -> None:
        waiting, self._frozen = self._frozen or [], None
        for inbox in self._stopped if self._alive else ():
            self._world.wake(inbox)
        for call in waiting:
            call()

    @property
    def alive(self) -> bool:
        """False after the process has ended."""
        return self._alive

    def now(self) -> datetime:
        """Return the time of day, as the process has it."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return self._world.monotonic()

    def arm(self, key: TimerKey, to: Ref[M], message: M, *, at: float) -> None:
        """Send `message` to `to` at `at`, in place of what was armed under (to, key)."""
        arming = next(self._arming)
        self._armed[to, key] = arming
        self._world.call_at(at, partial(self._ring, (to, key), arming, to, message))

    def cancel(self, key: TimerKey, to: Ref[M]) -> None:
        """Send nothing of what was armed under (to, key)."""
        self._armed.pop((to, key), None)

    def _ring(self, name: tuple[Ref[Any], TimerKey], arming: int, to: Ref[Any], message: object) -> None:
        if self._frozen is not None:
            self._frozen.append(partial(self._ring, name, arming, to, message))
            return
        if self._alive and self._armed.get(name) == arming:
            del self._armed[name]
            to.tell(message)

    def run(
        self,
        key: TaskKey,
        call: Callable[[], R],
        to: Ref[M],
        then: Callable[[Outcome[R]], M],
        *,
        purpose: Purpose = BY_DEFAULT,
    ) -> None:
        """Run `call` after a drawn latency and tell `to` what `then` makes of its outcome.

        There is room for any number of calls at once, so that no purpose waits for another.
        """

        def made() -> R:
            with calling_for(purpose):
                return call()

        queue = self._queues.setdefault(key, deque())
        queue.append(partial(self._send, key, made, to, then))
        if len(queue) == 1:
            queue[0]()

    def mention(self, key: TaskKey, what: Hashable, call: Callable[[int], object]) -> None:
        """Run `call` after a drawn latency, with how often `what` was mentioned until then."""
        if (key, what) in self._mentioned:
            self._mentioned[key, what] += 1
            return
        self._mentioned[key, what] = 1
        made = partial(self._tell_of, (key, what), call)
        self.run(key, made, NullRef(), _as_it_is, purpose=Purpose.TELLING)

    def _tell_of(self, mention: tuple[TaskKey, Hashable], call: Callable[[int], object]) -> None:
        call(self._mentioned.pop(mention))

    def _send(self, key: TaskKey, call: Callable[[], R], to: Ref[M], then: Callable[[Outcome[R]], M]) -> None:
        there, back = self._latency(key)

        def arrive() -> None:
            if not self._alive and self._world.dice.random() > _CHANCE_A_SENT_CALL_ARRIVES:
                return
            outcome = _outcome(call)
            self._world.call_at(self._world.monotonic() + back, partial(answer, outcome))

        def answer(outcome: Outcome[R]) -> None:
            if not self._alive:
                return
            if self._frozen is not None:
                self._frozen.append(partial(answer, outcome))
                return
            queue = self._queues[key]
            queue.popleft()
            to.tell(then(outcome))
            if queue:
                queue[0]()
            else:
                del self._queues[key]

        self._world.call_at(self._world.monotonic() + there, arrive)


def _as_it_is(outcome: Outcome[R]) -> Outcome[R]:
    return outcome


def _outcome(call: Callable[[], R]) -> Outcome[R]:
    try:
        return Done(call())
    except PortError as error:
        return Failed(error)


class SeededDice:
    """The dice of a seeded process."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def uniform(self, low: float, high: float) -> float:
        """Return a number between `low` and `high`."""
        return self._dice.uniform(low, high)

    def token(self) -> str:
        """Return ten hexadecimal digits."""
        return f"{self._dice.getrandbits(40):010x}"
