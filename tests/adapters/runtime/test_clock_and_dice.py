from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.runtime.clock import SteadyClock, SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.telemetry import metrics


def test_the_time_of_day_is_aware_and_in_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


def test_the_seconds_never_go_back() -> None:
    clock = SystemClock()
    looks = [clock.monotonic() for _ in range(100)]

    assert looks == sorted(looks)


def test_tokens_are_ten_hexadecimal_digits_and_differ() -> None:
    tokens = {SystemDice().token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(re.fullmatch("[0-9a-f]{10}", token) for token in tokens)


def test_numbers_are_drawn_between_the_bounds() -> None:
    drawn = [SystemDice().uniform(2, 3) for _ in range(100)]

    assert all(2 <= number <= 3 for number in drawn)
    assert len(set(drawn)) > 1


class Machine:
    """A machine's clock that somebody sets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.off = 0.0

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=self.seconds + self.off)

    def monotonic(self) -> float:
        return self.seconds


def test_a_look_tells_how_far_the_machines_clock_is_off() -> None:
    machine, telemetry = Machine(), RecordingTelemetry()
    clock = SteadyClock(machine, telemetry)
    clock.hear(machine.now())

    machine.off = -3600
    clock.look()

    assert telemetry.counted(metrics.CLOCK_STEPS.name, direction="back") == 1
    assert telemetry.gauged(metrics.CLOCK_OFFSET.name) == -3600
