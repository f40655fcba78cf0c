from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START
from treenail.domain.leadership.election import Election
from treenail.domain.leadership.lease import Lease, LeaseTiming
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import NotLeadingError

THEIRS = Lease(holder="b", seconds=15, acquired_at="then", renewed_at="later", transitions=3, version="7")


def an_election() -> Election:
    return Election("a", LeaseTiming())


def test_a_lease_that_is_not_there_is_made_at_once_where_nobody_can_have_led() -> None:
    election = an_election()
    election.see(None, 100.0, unused=True)

    made = election.claim(100.0, START)

    assert made is not None
    assert (made.holder, made.seconds, made.transitions, made.version) == ("a", 15, 0, "")
    assert made.acquired_at == made.renewed_at == "2026-01-01T00:00:00.000000Z"


def test_the_lease_of_another_is_taken_when_it_was_seen_unchanged_for_as_long_as_it_is_good_for() -> None:
    election = an_election()
    election.see(THEIRS, 100.0)
    election.see(THEIRS, 114.0)

    assert election.claim(114.9, START) is None
    taken = election.claim(115.0, START)

    assert taken is not None
    assert (taken.holder, taken.transitions, taken.version) == ("a", 4, "7")
    assert taken.acquired_at == taken.renewed_at


def test_a_renewal_that_is_seen_begins_the_wait_anew_whatever_time_it_says() -> None:
    election = an_election()
    election.see(THEIRS, 100.0)
    election.see(replace(THEIRS, renewed_at="1970-01-01T00:00:00Z", version="8"), 114.0)

    assert election.claim(128.9, START) is None
    assert election.claim(129.0, START) is not None


def test_whoever_touches_the_lease_delays_its_end_and_never_hastens_it() -> None:
    election = an_election()
    election.see(THEIRS, 100.0)
    election.see(replace(THEIRS, version="8"), 114.0)

    assert election.free_at == 129.0


@pytest.mark.parametrize(("seconds", "free_at"), [(60, 160.0), (1, 115.0), (0, 115.0)])
def test_a_lease_is_good_for_what_it_says_and_no_less_than_ours(seconds: int, free_at: float) -> None:
    election = an_election()
    election.see(replace(THEIRS, seconds=seconds), 100.0)

    assert election.free_at == free_at


def test_a_lease_that_was_given_up_is_free_at_once() -> None:
    election = an_election()
    election.see(THEIRS, 100.0)
    election.see(THEIRS.given_up(), 101.0)

    taken = election.claim(101.0, START)

    assert taken is not None
    assert taken.transitions == 4


def test_what_is_held_is_renewed_and_says_since_when() -> None:
    election = an_election()
    mine = replace(THEIRS, holder="a")
    election.see(mine, 100.0)

    renewed = election.claim(100.0, START)

    assert renewed is not None
    assert (renewed.acquired_at, renewed.transitions) == ("then", 3)
    assert renewed.renewed_at == "2026-01-01T00:00:00.000000Z"


def test_a_lease_that_is_deleted_while_another_holds_it_counts_as_held_for_as_long() -> None:
    election = an_election()
    election.see(THEIRS, 100.0)
    election.see(None, 101.0)
    for at in (105.0, 110.0, 114.0):
        election.see(None, at)

    assert election.claim(115.9, START) is None
    assert election.claim(116.0, START) is not None


def test_a_lease_that_is_not_there_at_the_first_look_counts_as_held_for_as_long_as_one_is_good_for() -> None:
    election = an_election()
    election.see(None, 100.0)
    for at in (105.0, 110.0, 114.0):
        election.see(None, at)

    assert election.claim(114.9, START) is None
    assert election.claim(115.0, START) is not None


def test_a_lease_that_is_deleted_after_it_was_given_up_may_have_been_taken_between_the_looks() -> None:
    election = an_election()
    election.see(THEIRS.given_up(), 100.0)
    election.see(None, 101.0)

    assert election.free_at == 116.0


def test_a_lease_of_ones_own_that_is_deleted_is_made_again_at_once() -> None:
    election = an_election()
    election.see(replace(THEIRS, holder="a"), 100.0)
    election.see(None, 101.0)

    assert election.claim(101.0, START) is not None


def test_a_lease_of_ones_own_that_was_not_renewed_in_time_may_have_been_anothers_when_it_was_deleted() -> (
    None
):
    election = an_election()
    election.see(replace(THEIRS, holder="a"), 100.0)
    election.see(None, 140.0)

    assert election.free_at == 155.0


def test_a_wait_for_a_lease_that_is_not_there_begins_anew_where_nobody_looked_for_a_while() -> None:
    election = an_election()
    election.see(None, 100.0)
    election.see(None, 105.1)

    assert election.free_at == 120.1


def test_calls_begin_before_the_deadline_alone() -> None:
    seconds = [100.0]
    tenure = Tenure(lambda: seconds[0])
    with pytest.raises(NotLeadingError):
        tenure.check()

    tenure.extend(110.0)
    tenure.check()
    seconds[0] = 110.0

    with pytest.raises(NotLeadingError):
        tenure.check()


def test_a_tenure_that_has_ended_is_not_extended() -> None:
    tenure = Tenure(lambda: 100.0)
    tenure.end()
    tenure.extend(110.0)

    assert not tenure.held
