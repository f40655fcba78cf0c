"""Tasks: calls that may block, run on threads of their own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from threading import Condition, Lock, Thread
from types import MappingProxyType
from typing import Final, TypeVar

from treenail.adapters.runtime.task_queues import Begun, WaitingCalls
from treenail.domain.model.errors import PortError
from treenail.domain.model.purposes import BY_DEFAULT, Purpose, calling_for
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref, TaskKey

R = TypeVar("R")
M = TypeVar("M")

# How many calls to each port may be under way at once.
WORKERS: Final[Mapping[str, int]] = MappingProxyType(
    {"kubernetes": 16, "ec2": 16, "sqs": 4, "solver": 1, "telemetry": 2}
)
_OTHERS: Final = 4
# A worker without work ends after so many seconds.
_IDLE_SECONDS: Final = 60.0
# So many mentions may wait, of all ports together; what comes then is dropped.
MOST_MENTIONS: Final = 10_000


def _unheard() -> None:
    """Nobody wants to know."""


class ThreadTasks:
    """The port `Tasks`. Threads may share it; it takes calls until `stop`.

    Calls with equal keys run one after the other, in order; others in parallel, so many at once as
    `workers` says for their port, the first item of the key. The most urgent begin first, and some workers
    are kept for them; each purpose has its share. `failed` hears of an exception that is no `PortError`,
    `dropped` of each mention beyond `most_mentions`.
    """

    def __init__(
        self,
        *,
        failed: Callable[[BaseException], None],
        workers: Mapping[str, int] = WORKERS,
        dropped: Callable[[], None] = _unheard,
        most_mentions: int = MOST_MENTIONS,
    ) -> None:
        self._failed = failed
        self._workers = workers
        self._dropped = dropped
        self._most_mentions = most_mentions
        self._lock = Lock()
        self._ended = Condition(self._lock)
        self._ports: dict[str, _Port] = {}
        # How often what waits to be mentioned was mentioned.
        self._mentions: dict[tuple[TaskKey, Hashable], int] = {}
        self._open = True

    def run(
        self,
        key: TaskKey,
        call: Callable[[], R],
        to: Ref[M],
        then: Callable[[Outcome[R]], M],
        *,
        purpose: Purpose = BY_DEFAULT,
    ) -> None:
        """Run `call` elsewhere and tell `to` what `then` makes of its outcome."""
        with self._lock:
            self._put(key, partial(self._do, call, to, then), purpose)

    def mention(self, key: TaskKey, what: Hashable, call: Callable[[int], object]) -> None:
        """Run `call` elsewhere, last of all, with how often `what` was mentioned until then."""
        if not self._mentioned(key, what, call):
            self._dropped()

    def depths(self) -> dict[str, int]:
        """Return how many calls wait or are under way, by port."""
        with self._lock:
            return {name: port.calls.number for name, port in sorted(self._ports.items())}

    def stop(self, seconds: float) -> bool:
        """Begin no call any more; False where some are still under way after `seconds`."""
        with self._lock:
            self._open = False
            for port in self._ports.values():
                port.calls.drop_waiting()
                port.changed.notify_all()
            return self._ended.wait_for(lambda: not any(p.threads for p in self._ports.values()), seconds)

    def _mentioned(self, key: TaskKey, what: Hashable, call: Callable[[int], object]) -> bool:
        """Have `what` mentioned; return whether there is room for it."""
        mention = (key, what)
        with self._lock:
            if mention in self._mentions:
                self._mentions[mention] += 1
                return True
            if len(self._mentions) >= self._most_mentions:
                return False
            self._mentions[mention] = 1
            self._put(key, partial(self._mention, mention, call), Purpose.TELLING)
            return True

    def _put(self, key: TaskKey, call: Callable[[], None], purpose: Purpose) -> None:
        if not self._open:
            return
        port = self._port(key[0])
        port.calls.put(key, purpose, call)
        self._see_to(port)

    def _see_to(self, port: _Port) -> None:
        """Start or wake a thread for a call that can begin now."""
        if port.short_of_workers:
            port.threads += 1
            Thread(target=self._work, args=(port,), name=f"tasks-{port.name}", daemon=True).start()
        elif port.calls.startable:
            port.changed.notify()

    def _port(self, name: str) -> _Port:
        if name not in self._ports:
            self._ports[name] = _Port(name, self._workers.get(name, _OTHERS), Condition(self._lock))
        return self._ports[name]

    def _do(self, call: Callable[[], R], to: Ref[M], then: Callable[[Outcome[R]], M]) -> None:
        try:
            to.tell(then(_outcome(call)))
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, and the others go on)
            self._failed(error)

    def _mention(self, mention: tuple[TaskKey, Hashable], call: Callable[[int], object]) -> None:
        with self._lock:
            count = self._mentions.pop(mention)
        try:
            _outcome(lambda: call(count))
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, and the others go on)
            self._failed(error)

    def _work(self, port: _Port) -> None:
        while (begun := self._next(port)) is not None:
            with calling_for(begun.purpose):
                begun.call()
            with self._lock:
                port.calls.done(begun)

    def _next(self, port: _Port) -> Begun | None:
        """Wait for a call that may begin; None where this worker is to end."""
        with self._lock:
            port.idle += 1
            port.changed.wait_for(lambda: port.calls.startable or not self._open, _IDLE_SECONDS)
            port.idle -= 1
            begun = port.calls.begin()
            if begun is None:
                port.threads -= 1
                self._ended.notify_all()
            else:
                # The end of one call may let two begin: the next of its key, and one that had no room.
                self._see_to(port)
            return begun


class _Port:
    """The calls to one port, and the workers that make them."""

    def __init__(self, name: str, most: int, changed: Condition) -> None:
        self.name = name
        self.changed = changed
        self.calls = WaitingCalls(most)
        self.threads = 0
        self.idle = 0
        self._most = most

    @property
    def short_of_workers(self) -> bool:
        # An idle worker that was woken for another call still counts as idle until it has taken it.
        return self.calls.startable > self.idle and self.threads < self._most


def _outcome(call: Callable[[], R]) -> Outcome[R]:
    try:
        return Done(call())
    except PortError as error:
        return Failed(error)
