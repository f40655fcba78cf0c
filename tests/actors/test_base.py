from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.probes import Probe
from treenail.actors.runtime.base import DomainActor, ForwardRef, Runtime
from treenail.actors.runtime.world import SeededDice
from treenail.domain.model.runtime import Ref
from treenail.domain.telemetry.tracing import SpanContext


@dataclass(frozen=True, slots=True)
class Say:
    """Pass `word` on."""

    word: str


class Relay(DomainActor[Say]):
    """Notes the span a message came in; the first passes it on in one of its own."""

    def __init__(self, runtime: Runtime, *, to: Ref[Say] | None = None) -> None:
        super().__init__(runtime)
        self._to = to

    def handle(self, message: Say) -> None:
        if self._to is not None:
            self.within(SpanContext.root(message.word))
            self._to.tell(message)
        else:
            self.log("heard", word=message.word)


def test_what_is_told_carries_the_span_it_belongs_to() -> None:
    stage = Stage()
    last = stage.host(Relay)
    first = stage.host(lambda runtime: Relay(runtime, to=last))

    first.tell(Say("hello"))
    stage.run(1)
    last.tell(Say("alone"))
    stage.run(1)

    context = SpanContext.root("hello")
    assert stage.logged("heard") == [
        {"word": "hello", "trace_id": context.trace_id, "span_id": context.span_id},
        {"word": "alone"},
    ]


def test_timers_and_tasks_carry_the_span_they_were_asked_for_in() -> None:
    stage, heard = Stage(), Probe()

    class Sleeper(DomainActor[Any]):
        def handle(self, message: Any) -> None:
            match message:
                case "begin":
                    self.within(SpanContext.root("sleep"))
                    self.later("wake", "rung", seconds=1)
                    self._tasks.run(("shop",), lambda: None, self.carrying(), lambda _: "fetched")
                case _:
                    context = self.carrying().context
                    heard.tell((message, context == SpanContext.root("sleep")))

    stage.host(Sleeper).tell("begin")
    stage.run(2)

    assert heard.received == [("fetched", True), ("rung", True)]


def test_refs_to_one_inbox_are_equal() -> None:
    stage = Stage()
    one, two = stage.host(Relay), stage.host(Relay)
    same = stage.process.actors[0].carrying()

    assert one == same != two
    assert hash(one) == hash(same)
    assert one != "one"


def test_a_forward_leads_nowhere_until_it_is_told_where() -> None:
    forward: ForwardRef[str] = ForwardRef()
    with pytest.raises(RuntimeError, match="str was sent before the system was wired"):
        forward.tell("hello")

    probe = Probe()
    forward.leads_to(probe)
    forward.tell("hello")

    assert probe.received == ["hello"]


def test_an_exception_nobody_expected_is_reported() -> None:
    stage, failures = Stage(), Probe()
    runtime = Runtime(
        timers=stage.process,
        tasks=stage.process,
        dice=SeededDice(stage.world.dice),
        telemetry=stage.telemetry,
        failed=failures.tell,
    )
    actor, error = Relay(runtime), ValueError("nobody expected this")

    actor.on_failure(ValueError, error, None)
    actor.on_failure(None, None, None)

    assert failures.received == [error]
