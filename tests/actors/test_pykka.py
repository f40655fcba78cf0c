"""What we build on of Pykka beyond what it documents. A new version that fails here is not for us yet."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any

import pykka


class Echo(pykka.ThreadingActor):
    use_daemon_thread = True

    def __init__(self, heard: SimpleQueue[Any], failures: SimpleQueue[Any]) -> None:
        super().__init__()
        self._heard = heard
        self._failures = failures

    def on_receive(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        self._heard.put(message)

    def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        del exception_type, traceback
        self._failures.put(exception_value)


def test_an_actor_that_was_not_started_keeps_what_it_is_told_in_its_inbox() -> None:
    before = threading.active_count()
    actor = Echo(SimpleQueue(), SimpleQueue())

    actor.actor_ref.tell("first")
    actor.actor_ref.tell("second")

    inbox: Any = actor.actor_inbox
    assert inbox.qsize() == 2
    assert inbox.get().message == "first"
    assert inbox.get().message == "second"
    assert inbox.empty()
    assert threading.active_count() == before
    assert pykka.ActorRegistry.get_by_urn(actor.actor_urn) is None


def test_a_started_actor_receives_the_very_object_it_is_told() -> None:
    heard: SimpleQueue[Any] = SimpleQueue()
    message = object()
    ref = Echo.start(heard, SimpleQueue())

    ref.tell(message)

    assert heard.get(timeout=5) is message
    ref.stop(timeout=5)


def test_a_reference_shows_how_much_waits_in_the_inbox() -> None:
    actor = Echo(SimpleQueue(), SimpleQueue())
    actor.actor_ref.tell("first")

    inbox: Any = actor.actor_ref.actor_inbox
    assert inbox.qsize() == 1


def test_an_exception_ends_the_actor_and_is_reported_once() -> None:
    failures: SimpleQueue[Any] = SimpleQueue()
    error = ValueError("nobody expected this")
    ref = Echo.start(SimpleQueue(), failures)

    ref.tell(error)

    assert failures.get(timeout=5) is error
    assert failures.empty()
    assert not ref.is_alive()
