from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import a_claim
from tests.contracts.cluster.subject import Subject
from treenail.domain.leadership.lease import Lease
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, NotFoundError

MINE = Lease(
    holder="a",
    seconds=15,
    acquired_at="2026-01-01T00:00:00.000001Z",
    renewed_at="2026-01-01T00:00:02.000000Z",
    transitions=2,
)


def test_a_lease_that_nobody_made_is_not_there(subject: Subject) -> None:
    assert subject.lease.read() is None


def test_a_lease_is_read_as_it_was_written(subject: Subject) -> None:
    written = subject.lease.write(MINE, over=None)

    assert written.version
    assert replace(written, version="") == MINE
    assert subject.lease.read() == written


def test_a_lease_that_is_there_is_not_made_again(subject: Subject) -> None:
    subject.lease.write(MINE, over=None)

    with pytest.raises(AlreadyExistsError):
        subject.lease.write(replace(MINE, holder="b"), over=None)


def test_of_two_that_write_over_the_same_lease_one_is_refused(subject: Subject) -> None:
    before = subject.lease.write(MINE, over=None)
    renewed = subject.lease.write(replace(MINE, renewed_at="2026-01-01T00:00:04.000000Z"), over=before)

    with pytest.raises(ConflictError):
        subject.lease.write(replace(MINE, holder="b"), over=before)

    assert subject.lease.read() == renewed


def test_a_lease_that_is_not_there_is_not_written_over(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.lease.write(MINE, over=replace(MINE, version="7"))


def test_a_lease_that_is_given_up_has_no_holder(subject: Subject) -> None:
    held = subject.lease.write(MINE, over=None)
    subject.lease.write(held.given_up(), over=held)

    there = subject.lease.read()

    assert there is not None
    assert (there.holder, there.seconds, there.transitions) == ("", 1, 2)


def test_a_cluster_tells_whether_it_has_claims_as_where_somebody_has_led(subject: Subject) -> None:
    assert not subject.lease.has_claims()

    subject.writer.create_claim(a_claim("default-1"))

    assert subject.lease.has_claims()
