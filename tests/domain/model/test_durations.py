from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds", "written"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("30s", 30, "30s"),
        ("90s", 90, "1m30s"),
        ("1h30m", 5400, "1h30m0s"),
        ("30m1h", 5400, "1h30m0s"),
        ("1h1h", 7200, "2h0m0s"),
        ("1.5h", 5400, "1h30m0s"),
        (".5s", 0.5, "500ms"),
        ("5.s", 5, "5s"),
        ("-1h", -3600, "-1h0m0s"),
        ("+1h", 3600, "1h0m0s"),
        ("720h", 2_592_000, "720h0m0s"),
        ("100ms", 0.1, "100ms"),
        ("1.5ms", 0.0015, "1.5ms"),
        ("1us", 0.000001, "1\u00b5s"),
        ("1\u00b5s", 0.000001, "1\u00b5s"),
        ("1\u03bcs", 0.000001, "1\u00b5s"),
        ("3000000000ns", 3, "3s"),
        ("1m0.5s", 60.5, "1m0.5s"),
        ("59.9999999s", 59.999999, "59.999999s"),
        ("2562047h", 9_223_369_200, "2562047h0m0s"),
    ],
)
def test_a_duration_is_read_and_written_as_go_does(text: str, seconds: float, written: str) -> None:
    span = parse_duration(text)

    assert span == timedelta(seconds=seconds)
    assert format_duration(span) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "1",
        "h",
        "-",
        ".s",
        "1d",
        "1H",
        "1h 30m",
        " 1h",
        "1h30",
        "00",
        "2562048h",
        "\u0661h",
        "Never",
        "1" * 70 + "s",
    ],
)
def test_what_go_refuses_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@given(st.timedeltas(timedelta(days=-90_000), timedelta(days=90_000)))
def test_what_is_written_reads_back_as_it_was(span: timedelta) -> None:
    assert parse_duration(format_duration(span)) == span
