"""The base of all actors: receiving, sending, failing and logging. The one place that touches Pykka."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, final

import pykka

from treenail.domain.model.runtime import Dice, Ref, Tasks, Timers
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry.tracing import SpanContext

InboxT = TypeVar("InboxT")
M = TypeVar("M")

_context: ContextVar[SpanContext | None] = ContextVar("treenail_span_context", default=None)


@dataclass(frozen=True, slots=True)
class Delivery(Generic[M]):
    """A message on its way, with the span it belongs to: the only thing an inbox holds."""

    message: M
    context: SpanContext | None = None


@dataclass(frozen=True, slots=True)
class Wired(Generic[M]):
    """A Ref that wraps what it is told in a `Delivery`. Equal where it leads to the same inbox.

    Without a `context` of its own it sends along that of the message being handled.
    """

    put: Callable[[Delivery[Any]], None]
    urn: str
    context: SpanContext | None = field(default=None, compare=False)

    def tell(self, message: M, /) -> None:
        """Put `message` in the inbox and return at once."""
        self.put(Delivery(message, self.context or _context.get()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wired) and self.urn == other.urn

    def __hash__(self) -> int:
        return hash(self.urn)


class ForwardRef(Generic[M]):
    """A Ref to an actor that does not exist yet, so that two actors can know each other."""

    def __init__(self) -> None:
        self._to: Ref[M] | None = None

    def leads_to(self, to: Ref[M]) -> None:
        """From now on pass everything on to `to`."""
        self._to = to

    def tell(self, message: M, /) -> None:
        """Pass `message` on."""
        if self._to is None:
            raise RuntimeError(f"{type(message).__name__} was sent before the system was wired")
        self._to.tell(message)


class NullRef:
    """A Ref that drops all messages."""

    def tell(self, message: object, /) -> None:
        """Hear nothing."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Asks an actor for a sign of life: it calls `answer` when the turn comes."""

    answer: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The services that every actor needs. `failed` gets unexpected exceptions."""

    timers: Timers
    tasks: Tasks
    dice: Dice
    telemetry: Telemetry
    failed: Callable[[BaseException], None]


class DomainActor(pykka.ThreadingActor, abc.ABC, Generic[InboxT]):
    """An actor that understands exactly the messages in `InboxT`.

    Its constructor takes the runtime and Refs to those it tells. `me` leads back to itself; it is set
    by whoever hosts the actor, before the first message.
    """

    use_daemon_thread = True

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self._runtime = runtime
        self._timers = runtime.timers
        self._tasks = runtime.tasks
        self._telemetry = runtime.telemetry
        self.me: Wired[Any] = Wired(self._put, self.actor_urn)

    def _put(self, delivery: Delivery[Any]) -> None:
        # Whoever tells a dead actor has done nothing wrong, and its end was reported already.
        with contextlib.suppress(pykka.ActorDeadError):
            self.actor_ref.tell(delivery)

    def begin(self) -> None:
        """Do what comes before the first message. Must not block."""

    @final
    def on_start(self) -> None:
        """Begin; report an unexpected exception, which Pykka would only log."""
        try:
            self.begin()
        except BaseException as error:
            self._runtime.failed(error)
            raise

    @abc.abstractmethod
    def handle(self, message: InboxT) -> None:
        """React to one message. Must not block."""

    @final
    def on_receive(self, message: Any) -> None:  # noqa: ANN401
        """Unwrap a delivery and handle it in its context."""
        if isinstance(message.message, Beat):
            message.message.answer()
            return
        token = _context.set(message.context)
        try:
            self.handle(message.message)
        except Exception:
            raise
        except BaseException as error:
            # Pykka stops all actors on one of these, without a report.
            self._runtime.failed(error)
            raise
        finally:
            _context.reset(token)

    @final
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: Any,  # noqa: ANN401
    ) -> None:
        """Report an unexpected exception: Pykka does not restart a dead actor, so the process must end."""
        del exception_type, traceback
        if exception_value is not None:
            self._runtime.failed(exception_value)

    def within(self, context: SpanContext | None) -> None:
        """Let what this handler still sends, arms, runs and logs belong to `context`."""
        _context.set(context)

    def later(self, key: object, message: InboxT, *, seconds: float) -> None:
        """Send `message` to this actor in `seconds`, in place of what was armed under `key`."""
        at = self._timers.monotonic() + seconds
        self._timers.arm(key, self.carrying(), message, at=at)

    def never(self, key: object) -> None:
        """Send nothing of what was armed under `key`."""
        self._timers.cancel(key, self.me)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._timers.monotonic()

    def chance(self) -> float:
        """Return a number from 0 to 1, by chance."""
        return self._runtime.dice.uniform(0, 1)

    def carrying(self) -> Wired[Any]:
        """Return a Ref to this actor that remembers the span at hand: for timers and tasks."""
        return Wired(self.me.put, self.me.urn, _context.get())

    def log(self, text: str, /, **fields: object) -> None:
        """Write a log line, with the ids of the span at hand."""
        context = _context.get()
        if context is not None:
            fields |= {"trace_id": context.trace_id, "span_id": context.span_id}
        self._telemetry.log(text, **fields)
