from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.agenda import HeapAgenda
from treenail.adapters.controller.failures import WITHIN, Failures


def test_failures_are_remembered_across_processes_for_ten_minutes(tmp_path: Path) -> None:
    clock = HeapAgenda()
    directory = tmp_path / "not yet there"
    assert Failures(directory, clock).recent() == 0

    Failures(directory, clock).note()
    clock.run(300)
    Failures(directory, clock).note()

    assert Failures(directory, clock).recent() == 2
    clock.run(301)
    assert Failures(directory, clock).recent() == 1
    clock.run(300)
    assert Failures(directory, clock).recent() == 0
    assert timedelta(minutes=10) == WITHIN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "7",
        "[7]",
        '["soon"]',
        '["2026-01-01T00:00:00"]',
        "{}",
        '{"times": 7, "more": 0}',
        '{"times": [], "more": "often"}',
        '{"times": [], "more": -1}',
        '{"times": [], "more": 4}',
        '{"times": ["2026-01-01T00:00:00+00:00"], "more": true}',
        "[" * 100_000,
    ],
)
def test_a_file_that_makes_no_sense_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "failures.json").write_text(text)
    failures = Failures(tmp_path, HeapAgenda())

    assert (failures.recent(), failures.pause()) == (0, None)
    failures.note()
    assert (failures.recent(), failures.pause()) == (1, None)


def failed(directory: Path, clock: HeapAgenda, *pauses: float) -> Failures:
    """Return what is remembered of a failure after each of these pauses (s)."""
    for seconds in pauses:
        clock.run(seconds)
        Failures(directory, clock).note()
    return Failures(directory, clock)


def test_the_third_failure_within_ten_minutes_begins_a_pause_that_ends_by_itself(tmp_path: Path) -> None:
    clock = HeapAgenda()
    assert failed(tmp_path, clock, 0, 100).pause() is None

    failures = failed(tmp_path, clock, 100)

    assert failures.pause() == 60
    clock.run(45)
    assert failures.pause() == 15
    clock.run(15)
    assert failures.pause() is None


def test_each_failure_more_makes_the_pause_longer_up_to_ten_minutes(tmp_path: Path) -> None:
    clock = HeapAgenda()
    failed(tmp_path, clock, 0, 10, 10)

    pauses = [failed(tmp_path, clock, 900).pause() for _ in range(5)]

    assert pauses == [120, 300, 600, 600, 600]


def test_after_a_long_quiet_time_all_is_forgotten(tmp_path: Path) -> None:
    clock = HeapAgenda()
    failed(tmp_path, clock, 0, 10, 10, 200, 400)

    assert failed(tmp_path, clock, 1801, 10).pause() is None
    assert failed(tmp_path, clock, 10).pause() == 60


def test_three_failures_further_apart_begin_none(tmp_path: Path) -> None:
    assert failed(tmp_path, HeapAgenda(), 0, 301, 301, 301).pause() is None


def test_a_clock_that_was_set_back_makes_no_pause_longer(tmp_path: Path) -> None:
    clock = HeapAgenda()
    clock.run(3600)
    failed(tmp_path, clock, 0, 10, 10)

    assert Failures(tmp_path, HeapAgenda()).pause() == 60


def test_what_was_noted_by_the_version_before_counts(tmp_path: Path) -> None:
    clock = HeapAgenda()
    times = [(clock.now() + timedelta(seconds=s)).isoformat() for s in range(3)]
    (tmp_path / "failures.json").write_text(json.dumps(times))
    clock.run(10)

    assert Failures(tmp_path, clock).pause() == 52


def test_a_place_that_cannot_be_written_to_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError, match="file"):
        Failures(tmp_path / "file", HeapAgenda()).note()

    with pytest.raises(OSError, match="file"):
        Failures(tmp_path / "file", HeapAgenda()).prepare()


def test_nothing_is_left_behind_by_seeing_whether_failures_could_be_noted(tmp_path: Path) -> None:
    directory = tmp_path / "not yet there"

    Failures(directory, HeapAgenda()).prepare()

    assert list(directory.iterdir()) == []
