from __future__ import annotations

import re
from datetime import timedelta

from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice


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
