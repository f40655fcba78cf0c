from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import pytest

from tests.adapters.ec2.refusals import Script, SleptTime, refusal
from tests.probes import PlainDice
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.launch.terminations import Terminations
from treenail.domain.model.errors import InvalidError, NotFoundError, UnavailableError
from treenail.domain.model.purposes import Purpose


class Ec2:
    """Terminates what it has, and refuses as EC2 does."""

    def __init__(self, *ids: str, protected: tuple[str, ...] = ()) -> None:
        self.ids = list(ids)
        self.protected = protected
        self.calls: list[list[str]] = []
        self.down = False
        self.begun, self.go_on = Event(), Event()
        self.go_on.set()
        time = SleptTime()
        self._retries = CallRetries(time, PlainDice(), sleep=time.sleep)
        self.terminations = Terminations(
            lambda ids, purpose: self._retries.call(
                "ec2",
                "TerminateInstances",
                partial(self._terminate, ids),
                purpose=purpose,
                resources=len(ids),
            )
        )

    def _terminate(self, ids: list[str]) -> None:
        self.calls.append(ids)
        self.begun.set()
        assert self.go_on.wait(5)
        if self.down:
            raise refusal("Unavailable", status=503)
        missing = [one for one in ids if one not in self.ids]
        if missing:
            named = f"IDs '{', '.join(missing)}' do" if len(missing) > 1 else f"ID '{missing[0]}' does"
            raise refusal("InvalidInstanceID.NotFound", f"The instance {named} not exist")
        if set(ids) & set(self.protected):
            raise refusal("OperationNotPermitted", "The instance may not be terminated.")
        self.ids = [one for one in self.ids if one not in ids]


def meanwhile(ec2: Ec2, first: Callable[[], None], *others: Callable[[], None]) -> list[Exception | None]:
    """Do `others` while `first` is out, and return how each ended."""
    ec2.go_on.clear()
    with ThreadPoolExecutor(len(others) + 1) as threads:
        futures = [threads.submit(first)]
        assert ec2.begun.wait(5)
        futures += [threads.submit(other) for other in others]
        while ec2.terminations.waiting < len(others):
            pass
        ec2.go_on.set()
        return [one.exception(5) for one in futures]  # type: ignore[misc]


def test_nothing_to_terminate_is_no_call() -> None:
    ec2 = Ec2()

    ec2.terminations.terminate(())

    assert ec2.calls == []


def test_what_is_asked_for_while_a_call_is_out_goes_into_one_call() -> None:
    ec2 = Ec2("i-1", "i-2", "i-3", "i-4")
    give_back = ec2.terminations.terminate

    ends = meanwhile(
        ec2, lambda: give_back(["i-1"]), *(partial(give_back, [one]) for one in ("i-2", "i-3", "i-4"))
    )

    assert ends == [None] * 4
    assert ec2.calls == [["i-1"], ["i-2", "i-3", "i-4"]]
    assert ec2.ids == []


def test_instances_that_are_not_there_are_left_out() -> None:
    ec2 = Ec2("i-1", "i-2")

    ec2.terminations.terminate(["i-0", "i-1", "i-2", "i-9"])

    assert ec2.calls == [["i-0", "i-1", "i-2", "i-9"], ["i-1", "i-2"]]
    assert ec2.ids == []


def test_instances_that_are_all_gone_are_no_trouble() -> None:
    ec2 = Ec2()

    ec2.terminations.terminate(["i-1"])

    assert ec2.calls == [["i-1"]]


def test_one_that_may_not_be_terminated_keeps_nobody_elses() -> None:
    ec2 = Ec2("i-1", "i-2", "i-3", protected=("i-2",))
    give_back = ec2.terminations.terminate

    ends = meanwhile(
        ec2, lambda: give_back(["i-1"]), partial(give_back, ["i-2"]), partial(give_back, ["i-3"])
    )

    assert [type(end) for end in ends] == [type(None), InvalidError, type(None)]
    assert ec2.ids == ["i-2"]


def test_one_of_many_that_may_not_be_terminated_keeps_no_other() -> None:
    ec2 = Ec2("i-1", "i-2", "i-3", protected=("i-2",))

    with pytest.raises(InvalidError, match="may not be terminated"):
        ec2.terminations.terminate(["i-1", "i-2", "i-3"])

    assert ec2.ids == ["i-2"]


def test_an_interruption_waits_for_no_call_that_is_less_urgent() -> None:
    calls: list[tuple[list[str], Purpose]] = []
    begun, go_on = Event(), Event()

    def terminate(ids: list[str], purpose: Purpose) -> None:
        calls.append((ids, purpose))
        if purpose is Purpose.DISRUPTION:
            begun.set()
            assert go_on.wait(5)

    terminations = Terminations(terminate)
    with ThreadPoolExecutor(3) as threads:
        slow = threads.submit(terminations.terminate, ["i-1"])
        assert begun.wait(5)
        threads.submit(terminations.terminate, ["i-2"], Purpose.INTERRUPTION).result(5)
        assert not slow.done()
        go_on.set()

    assert calls == [(["i-1"], Purpose.DISRUPTION), (["i-2"], Purpose.INTERRUPTION)]


def test_one_interruption_does_not_wait_for_the_call_of_another() -> None:
    begun, go_on = Event(), Event()

    def terminate(ids: list[str], _purpose: Purpose) -> None:
        if ids == ["i-1"]:
            begun.set()
            assert go_on.wait(5)

    terminations = Terminations(terminate)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(terminations.terminate, ["i-1"], Purpose.INTERRUPTION)
        assert begun.wait(5)
        threads.submit(terminations.terminate, ["i-2"], Purpose.INTERRUPTION).result(5)
        assert not slow.done()
        go_on.set()


def test_a_refusal_that_names_what_nobody_asked_for_is_told() -> None:
    answers = iter(["The instance ID 'i-9' does not exist", "The instance does not exist"])

    def terminate(_ids: list[str], _purpose: Purpose) -> None:
        time = SleptTime()
        refused = refusal("InvalidInstanceID.NotFound", next(answers))
        CallRetries(time, PlainDice(), sleep=time.sleep).call("ec2", "TerminateInstances", Script(refused))

    for _ in range(2):
        with pytest.raises(NotFoundError):
            Terminations(terminate).terminate(["i-1"])


def test_an_outage_is_told_to_all_who_wait_and_the_next_call_is_made_as_ever() -> None:
    ec2 = Ec2("i-1", "i-2")
    ec2.down = True
    for _ in range(2):
        with pytest.raises(UnavailableError):
            ec2.terminations.terminate(["i-1"])
    ec2.down = False

    ec2.terminations.terminate(["i-1", "i-2"])

    assert ec2.ids == []


def test_more_than_five_hundred_are_several_calls() -> None:
    ids = [f"i-{n:04x}" for n in range(1001)]
    ec2 = Ec2(*ids)

    ec2.terminations.terminate(ids)

    assert [len(call) for call in ec2.calls] == [500, 500, 1]
