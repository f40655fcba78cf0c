from __future__ import annotations

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


@pytest.mark.parametrize("text", ["", "{", "7", "[7]", '["soon"]', '["2026-01-01T00:00:00"]'])
def test_a_file_that_makes_no_sense_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "failures.json").write_text(text)
    failures = Failures(tmp_path, HeapAgenda())

    assert failures.recent() == 0
    failures.note()
    assert failures.recent() == 1


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
