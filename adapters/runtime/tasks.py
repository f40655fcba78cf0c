"""Calls that may block, run on threads of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from threading import Condition, Lock, Thread
from types import MappingProxyType
from typing import Final, TypeVar

from treenail.domain.model.errors import PortError
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref, TaskKey

R = TypeVar("R")
M = TypeVar("M")

# How many calls to each port may be under way at once.
WORKERS: Final[Mapping[str, int]] = MappingProxyType(
    {"kubernetes": 16, "ec2": 12, "sqs": 4, "solver": 1, "telemetry": 2}
)
_OTHERS: Final = 4
# A worker without work ends after so many seconds.
_IDLE_SECONDS: Final = 60.0


class ThreadTasks:
    """The port `Tasks`. Threads may share it; it takes calls until `stop`.

    Calls with equal keys run one after the other, in order; others in parallel, so many at once as
    `workers` says for their port, the first item of the key. `failed` hears of an exception that is no
    `PortError`.
    """

    def __init__(
        self, *, failed: Callable[[BaseException], None], workers: Mapping[str, int] = WORKERS
    ) -> None:
        self._failed = failed
        self._workers = workers
        self._lock = Lock()
        self._ended = Condition(self._lock)
        self._ports: dict[str, _Port] = {}
        self._open = True

    def run(self, key: TaskKey, call: Callable[[], R], to: Ref[M], then: Callable[[Outcome[R]], M]) -> None:
        """Run `call` elsewhere and tell `to` what `then` makes of its outcome."""
        with self._lock:
            if not self._open:
                return
            port = self._port(key[0])
            port.put(key, partial(self._do, call, to, then))
            if port.short_of_workers:
                port.threads += 1
                Thread(target=self._work, args=(port,), name=f"tasks-{port.name}", daemon=True).start()
            else:
                port.changed.notify()

    def depths(self) -> dict[str, int]:
        """Return how many calls wait or are under way, by port."""
        with self._lock:
            return {name: port.calls for name, port in sorted(self._ports.items())}

    def stop(self, seconds: float) -> bool:
        """Begin no call any more; False where some are still under way after `seconds`."""
        with self._lock:
            self._open = False
            for port in self._ports.values():
                port.drop_waiting()
                port.changed.notify_all()
            return self._ended.wait_for(lambda: not any(p.threads for p in self._ports.values()), seconds)

    def _port(self, name: str) -> _Port:
        if name not in self._ports:
            self._ports[name] = _Port(name, self._workers.get(name, _OTHERS), Condition(self._lock))
        return self._ports[name]

    def _do(self, call: Callable[[], R], to: Ref[M], then: Callable[[Outcome[R]], M]) -> None:
        try:
            to.tell(then(_outcome(call)))
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, and the others go on)
            self._failed(error)

    def _work(self, port: _Port) -> None:
        while (key := self._next(port)) is not None:
            port.queues[key][0]()
            with self._lock:
                port.done(key)

    def _next(self, port: _Port) -> TaskKey | None:
        """Wait for a call that may begin; None where this worker is to end."""
        with self._lock:
            port.idle += 1
            port.changed.wait_for(lambda: port.ready or not self._open, _IDLE_SECONDS)
            port.idle -= 1
            if port.ready:
                return port.ready.popleft()
            port.threads -= 1
            self._ended.notify_all()
            return None


class _Port:
    """The calls to one port, in a queue for each key: the first of a queue is ready, or under way."""

    def __init__(self, name: str, most: int, changed: Condition) -> None:
        self.name = name
        self.changed = changed
        self.queues: dict[TaskKey, deque[Callable[[], None]]] = {}
        self.ready: deque[TaskKey] = deque()
        self.threads = 0
        self.idle = 0
        self._most = most

    @property
    def calls(self) -> int:
        return sum(len(queue) for queue in self.queues.values())

    @property
    def short_of_workers(self) -> bool:
        # An idle worker that was woken for another call still counts as idle until it has taken it.
        return len(self.ready) > self.idle and self.threads < self._most

    def put(self, key: TaskKey, call: Callable[[], None]) -> None:
        queue = self.queues.setdefault(key, deque())
        queue.append(call)
        if len(queue) == 1:
            self.ready.append(key)

    def done(self, key: TaskKey) -> None:
        queue = self.queues[key]
        queue.popleft()
        if queue:
            self.ready.append(key)
        else:
            del self.queues[key]

    def drop_waiting(self) -> None:
        """Forget all calls but those under way."""
        for key in self.ready:
            del self.queues[key]
        self.ready.clear()
        for queue in self.queues.values():
            while len(queue) > 1:
                queue.pop()


def _outcome(call: Callable[[], R]) -> Outcome[R]:
    try:
        return Done(call())
    except PortError as error:
        return Failed(error)
