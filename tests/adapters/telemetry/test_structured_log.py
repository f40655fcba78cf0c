from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from treenail.adapters.telemetry.structured_log import StructuredLog

NOW = datetime(2026, 3, 1, 13, 30, 15, 123_456, tzinfo=timezone(timedelta(hours=1)))


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def written(message: str, /, *, threshold: str = "info", **fields: object) -> list[dict[str, Any]]:
    stream = io.StringIO()
    StructuredLog(stream, StoppedClock(), level=threshold).write(message, fields)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object_shaped_as_those_of_karpenter() -> None:
    (line,) = written("found pods", logger="packer", level="warning", pods=5, trace_id="4bf9")

    assert list(line.items()) == [
        ("level", "WARNING"),
        ("time", "2026-03-01T12:30:15.123Z"),
        ("logger", "packer"),
        ("message", "found pods"),
        ("pods", 5),
        ("trace_id", "4bf9"),
    ]


@pytest.mark.parametrize(
    ("threshold", "level", "lines"),
    [("info", "debug", 0), ("info", "info", 1), ("error", "warning", 0), ("debug", "debug", 1)],
)
def test_lines_below_the_level_are_left_out(threshold: str, level: str, lines: int) -> None:
    assert len(written("hello", threshold=threshold, level=level)) == lines


def test_the_level_can_be_changed_and_changed_back() -> None:
    stream = io.StringIO()
    log = StructuredLog(stream, StoppedClock(), level="error")

    for level in ("debug", "error"):
        log.set_level(level)
        log.write(f"at {level}", {"level": "debug"})

    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["at debug"]


def test_a_line_of_no_level_or_an_unheard_of_one_is_for_information() -> None:
    assert [line["level"] for line in (*written("a"), *written("b", level="chatty"))] == ["INFO", "INFO"]


def test_a_field_cannot_stand_in_for_what_every_line_has() -> None:
    (line,) = written("truth", message="lie", time="never", event="launch", fields="x", method="y")

    assert (line["message"], line["time"][:4]) == ("truth", "2026")
    assert (line["event"], line["fields"], line["method"]) == ("launch", "x", "y")


def test_an_exception_is_written_with_its_stack() -> None:
    error = ValueError("no such pool")

    (line,) = written("failed", level="error", error=error)

    assert line["error"] == "ValueError: no such pool"
    assert line["stacktrace"].endswith("ValueError: no such pool\n")


def test_values_that_json_does_not_know_are_written_as_text() -> None:
    (line,) = written("odd", at=datetime(2026, 1, 1, tzinfo=UTC), path={("a", 1): 2, "b": {1}}, name="\ud800")

    assert line["at"] == "2026-01-01T00:00:00.000Z"
    assert line["path"] == {"b": "{1}"}
    assert line["name"] == "\ud800"


def test_a_log_that_cannot_be_written_stops_nobody() -> None:
    stream = io.StringIO()
    log = StructuredLog(stream, StoppedClock())
    stream.close()

    log.write("into the void", {})

    with pytest.raises(ValueError, match="closed file"):
        stream.getvalue()
