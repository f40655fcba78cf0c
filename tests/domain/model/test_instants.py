from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from treenail.domain.model.instants import in_utc, read_instant, write_instant


@pytest.mark.parametrize(
    "written",
    [
        "9999-12-31T23:59:59-12:00",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:01Z",
    ],
)
def test_the_first_and_the_last_instants_there_are_can_be_read_and_reckoned_with(written: str) -> None:
    at = read_instant(written)

    assert at is not None
    assert at - timedelta(hours=10) < at < at + timedelta(days=100 * 365)


def test_an_instant_between_is_the_same_in_utc() -> None:
    at = datetime.fromisoformat("2026-01-01T12:00:00+02:00")

    assert (in_utc(at), in_utc(at).tzinfo) == (at, UTC)
    assert write_instant(at) == "2026-01-01T10:00:00Z"
