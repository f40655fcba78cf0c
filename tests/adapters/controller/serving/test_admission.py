from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from treenail.adapters.controller.serving.admission import Stage, closed_for, first_to_close, is_full
from treenail.adapters.controller.serving.limits import Limits, source_of

API, ROGUE = "10.0.0.1", "10.0.0.9"
MOST, OF_SOURCE = 8, 6
NOW = 1000.0


@dataclass
class Stood:
    source: str
    stage: Stage
    since: float
    number: int = 0


def closed(source: str, *present: Stood) -> Stood | None:
    return closed_for(source, present, most=MOST, most_of_source=OF_SOURCE, since=NOW)


def silent(source: str, count: int, *, since: float = 0.0) -> list[Stood]:
    return [Stood(source, Stage.HANDSHAKE, since + n) for n in range(count)]


def test_where_there_is_room_nobody_is_closed() -> None:
    assert closed(API, *silent(ROGUE, 5)) is None


def test_the_oldest_of_the_source_with_most_makes_room() -> None:
    own = Stood(API, Stage.HANDSHAKE, -10.0)
    rogues = silent(ROGUE, 5)
    others = [Stood("10.0.0.7", Stage.HANDSHAKE, -5.0), Stood("10.0.0.8", Stage.HANDSHAKE, -5.0)]

    assert closed(API, own, *others, *rogues) == rogues[0]


def test_a_source_at_its_limit_makes_room_itself_though_there_is_some() -> None:
    rogues = silent(ROGUE, OF_SOURCE)

    assert closed(ROGUE, *rogues) == rogues[0]
    assert closed(API, *rogues) is None


def test_silent_ones_of_the_same_source_keep_no_place_from_a_newcomer() -> None:
    here = "127.0.0.1"

    assert closed(here, *silent(here, MOST)) == silent(here, 1)[0]


def test_a_connection_that_was_used_stays_while_others_say_nothing() -> None:
    here = "127.0.0.1"
    kept = Stood(here, Stage.IDLE, -100.0)

    assert closed(here, kept, *silent(here, MOST - 1)) == silent(here, 1)[0]


def test_idle_connections_leave_half_of_the_room_to_those_that_arrive() -> None:
    idle = [Stood(ROGUE, Stage.IDLE, float(n)) for n in range(5)]
    arriving = silent(API, 3, since=-50.0)

    assert closed(API, *idle, *arriving) == idle[0]


def test_one_that_waits_for_our_answer_is_never_closed() -> None:
    waiting = [Stood(ROGUE, Stage.WAITING, 0.0)] * MOST

    assert closed(API, *waiting) is None
    assert is_full(waiting, most=MOST, since=NOW)
    assert not is_full([*waiting[1:], Stood(API, Stage.IDLE, 0.0)], most=MOST, since=NOW)


def test_newcomers_are_given_their_time_before_they_make_room() -> None:
    young = silent(ROGUE, MOST, since=NOW + 1)

    assert closed(API, *young) is None
    assert is_full(young, most=MOST, since=NOW)
    assert closed(API, *young[1:], *silent(API, 1)) == silent(API, 1)[0]


def test_a_kept_connection_stays_while_newcomers_have_their_time() -> None:
    kept = Stood(ROGUE, Stage.IDLE, -100.0)

    assert closed(ROGUE, kept, *silent(ROGUE, MOST - 1, since=NOW + 1)) is None


def test_one_that_does_not_read_its_answer_makes_room() -> None:
    waiting = [Stood(API, Stage.WAITING, 0.0)] * (MOST - 1)
    slow = Stood(ROGUE, Stage.SENDING, 5.0)

    assert closed(API, *waiting, slow) == slow


stood = st.builds(
    Stood,
    source=st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    stage=st.sampled_from(Stage),
    since=st.integers(0, 5).map(float),
    number=st.integers(0, 1000),
)


@given(st.lists(stood, max_size=20))
def test_whom_it_closes_is_of_the_source_with_most_of_its_kind_and_never_one_we_owe_an_answer(
    present: list[Stood],
) -> None:
    leaving = first_to_close(present, since=NOW)

    if leaving is None:
        assert all(each.stage is Stage.WAITING for each in present)
        return
    assert leaving.stage is not Stage.WAITING
    alike = [
        each
        for each in present
        if each.stage is not Stage.WAITING and (each.stage is Stage.IDLE) == (leaving.stage is Stage.IDLE)
    ]
    counts = Counter(each.source for each in alike)
    assert counts[leaving.source] == max(counts.values())
    assert leaving.since == min(each.since for each in alike if each.source == leaving.source)
    assert len(alike) >= len([each for each in present if each.stage is not Stage.WAITING]) / 2


def test_addresses_are_counted_by_origin() -> None:
    assert source_of("::ffff:10.0.0.1") == source_of("10.0.0.1") == "10.0.0.1"
    assert source_of("2001:db8:1:2::7") == source_of("2001:db8:1:2:ffff::1") != source_of("2001:db8:1:3::7")
    assert source_of("fe80::1%eth0") == "fe80::"


def test_all_ports_together_take_less_than_half_of_the_descriptors_there_are() -> None:
    for descriptors in (256, 1024, 1_000_000):
        fitted = Limits(connections=128, connections_of_source=96).fitted(descriptors)
        assert 3 * fitted.connections < descriptors / 2
        assert fitted.connections_of_source < fitted.connections <= 128
