from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from tests.probes import PlainDice
from treenail.adapters.ec2.refresher import Refresher
from treenail.domain.model.errors import UnavailableError


class Refreshing:
    """A refresher whose waits are noted and take no time; the last of `rounds` ends it."""

    def __init__(self, rounds: int, *errors: Exception | None) -> None:
        self.ahead: list[float] = []
        self.waits: list[float] = []
        self.failures: list[BaseException] = []
        self.lines: list[tuple[str, Mapping[str, object]]] = []
        self._errors = list(errors)
        self._rounds = rounds
        self.refresher = Refresher(
            self._refresh, dice=PlainDice(), log=self._log, failed=self.failures.append, wait=self._wait
        )

    def _refresh(self, *, ahead: float) -> None:
        self.ahead.append(ahead)
        error = self._errors.pop(0) if self._errors else None
        if error is not None:
            raise error

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return len(self.waits) == self._rounds

    def _log(self, message: str, /, **fields: object) -> None:
        self.lines.append((message, fields))


def test_it_refreshes_at_once_and_then_again_and_again() -> None:
    own = Refreshing(3)

    own.refresher.run()

    assert len(own.ahead) == 3
    # What is read ahead of its time is never old when somebody asks.
    assert all(240 <= seconds <= 300 < ahead for seconds, ahead in zip(own.waits, own.ahead, strict=True))


def test_what_cannot_be_looked_up_is_told_and_tried_again_soon() -> None:
    own = Refreshing(2, UnavailableError("no answer"))

    own.refresher.run()

    assert [message for message, _ in own.lines] == ["cannot look up what EC2 sells"]
    assert own.lines[0][1]["error"] == "no answer"
    assert own.waits[0] <= 60 < own.waits[1]
    assert own.failures == []


def test_an_exception_that_nobody_expected_is_told_and_ends_it() -> None:
    defect = ValueError("a defect")
    own = Refreshing(9, None, defect)

    own.refresher.run()

    assert own.failures == [defect]
    assert len(own.ahead) == 2


def refresher(refresh: Callable[[], None]) -> Refresher:
    def log(message: str, /, **_: object) -> None:
        raise AssertionError(message)

    def failed(error: BaseException) -> None:
        raise error

    def call(*, ahead: float) -> None:
        assert ahead > 0
        refresh()

    return Refresher(call, dice=PlainDice(), log=log, failed=failed)


def test_its_thread_ends_in_the_middle_of_a_wait() -> None:
    refreshed = threading.Event()
    own = refresher(refreshed.set)

    own.start()
    assert refreshed.wait(10)

    assert own.stop(10)


def test_whoever_stops_it_waits_no_longer_than_they_would() -> None:
    begun, over = threading.Event(), threading.Event()

    def take_long() -> None:
        begun.set()
        over.wait(10)

    own = refresher(take_long)
    own.start()
    assert begun.wait(10)

    assert not own.stop(0)
    over.set()
    assert own.stop(10)


def test_one_that_was_never_started_is_stopped_at_once() -> None:
    assert refresher(lambda: None).stop(0)
