from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from treenail.domain.explain.explanation import ago

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (timedelta(seconds=-5), "0s ago"),
        (timedelta(seconds=200), "3m20s ago"),
        (timedelta(hours=47, minutes=59), "47h59m0s ago"),
        (timedelta(hours=48), "2d ago"),
        (timedelta(days=271, hours=3, minutes=54), "271d3h ago"),
    ],
)
def test_what_is_long_ago_is_told_in_days(span: timedelta, said: str) -> None:
    assert ago(NOW - span, NOW) == said
