"""How long watches wait for a server in trouble."""

from __future__ import annotations

import queue
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.rig import FAST, SOON, Rig, middle
from tests.adapters.kubernetes.scripted import DROP, GONE, Reply, status
from treenail.adapters.kubernetes.resources import NODE, POD

# Longer than any test waits.
LONG = 60.0
PACE = replace(FAST, first_pause=1.0, longest_pause=LONG, watch=(400.0, 600.0))


class Pauses:
    """The dice: pauses after troubles are as a test says. It notes how long they might have been, at most."""

    def __init__(self, *lengths: float) -> None:
        self._lengths = list(lengths)
        self.asked: queue.SimpleQueue[float] = queue.SimpleQueue()

    def __call__(self, low: float, high: float) -> float:
        if high < PACE.first_pause or low * 2 != high:
            return middle(low, high)
        length = self._lengths.pop(0)
        self.asked.put(high)
        return length

    def next(self) -> float:
        return self.asked.get(timeout=SOON)


def a_rig(pauses: Pauses) -> Rig:
    rig = Rig(PACE, uniform=pauses)
    rig.server.serve_all()
    return rig


def test_the_first_answer_of_a_server_ends_the_pauses_of_all_who_wait_for_one() -> None:
    pauses = Pauses(LONG, 0.001)
    with a_rig(pauses) as rig:
        rig.start()
        rig.server.watch(NODE).cut()
        pauses.next()

        rig.server.watch(POD).cut()
        rig.server.watch(POD)

        assert rig.server.watch(NODE)


def test_pauses_are_not_ended_again_and_again_by_a_server_that_answers_now_and_then() -> None:
    pauses = Pauses(LONG, 0.001, LONG, 0.001, 0.001)
    with a_rig(pauses) as rig:
        rig.start()
        rig.server.watch(NODE).cut()
        pauses.next()
        rig.server.watches(NODE, DROP)
        rig.server.watch(POD).cut()
        assert [pauses.next() for _ in range(2)] == [1.0, 1.0]

        for _ in range(2):
            rig.server.watch(POD).cut()
        rig.server.watch(POD)

        assert len(rig.server.requests(NODE, watch=True)) == 2


@pytest.mark.parametrize("reply", [status(429, headers={"Retry-After": "0"}), GONE])
def test_a_pause_that_is_not_for_want_of_an_answer_is_seen_through(reply: Reply) -> None:
    pauses = Pauses(LONG, 0.001, 0.001, 0.001)
    with a_rig(pauses) as rig:
        rig.server.watches(NODE, reply)
        rig.start()
        pauses.next()

        for _ in range(3):
            rig.server.watch(POD).cut()
        rig.server.watch(POD)

        assert len(rig.server.requests(NODE, watch=True)) == 1


def test_a_revision_that_is_gone_after_an_outage_is_no_reason_for_a_long_pause() -> None:
    pauses = Pauses(0.001, 0.001, 0.001, 0.001)
    with a_rig(pauses) as rig:
        rig.server.watches(NODE, DROP, DROP, DROP, GONE)
        rig.start()

        assert [pauses.next() for _ in range(4)] == [1.0, 2.0, 4.0, 1.0]
        assert rig.server.watch(NODE)


def test_the_pauses_of_a_watch_that_breaks_as_soon_as_it_is_opened_grow() -> None:
    pauses = Pauses(0.001, 0.001, 0.001)
    with a_rig(pauses) as rig:
        rig.start()
        for _ in range(3):
            rig.server.watch(NODE).cut()

        assert [pauses.next() for _ in range(3)] == [1.0, 1.0, 2.0]


def test_a_watch_that_lasted_without_telling_anything_went_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treenail.adapters.kubernetes.watcher._SHORT_WATCH", 0.0)
    pauses = Pauses(0.001, 0.001, 0.001)
    with a_rig(pauses) as rig:
        rig.start()
        for _ in range(3):
            rig.server.watch(NODE).cut()

        assert [pauses.next() for _ in range(3)] == [1.0, 1.0, 1.0]
