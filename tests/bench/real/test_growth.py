from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.bench.real.process_state import ProcessState
from tests.bench.real.steady import Minute, growth


def minutes(
    mib: Callable[[int], float] = lambda _: 100.0, sockets: Callable[[int], int] = lambda _: 30
) -> list[Minute]:
    return [
        Minute(
            minute=n,
            nodes=200,
            pods_ready=1_000,
            state=ProcessState(
                resident_mib=[mib(n) - 30, 30.0],
                cpu_seconds=float(n),
                threads=60,
                files=sockets(n) + 10,
                sockets=sockets(n),
            ),
        )
        for n in range(1, 31)
    ]


def test_memory_that_settles_in_the_first_third_has_not_grown() -> None:
    found = growth(minutes(mib=lambda n: 100.0 if n > 10 else 60.0 + n))

    assert found.grown() == []
    assert found.mib == (100.0, 100.0)
    assert found.mib_an_hour == 0


def test_memory_that_goes_on_growing_by_more_than_a_twentieth_is_told_of() -> None:
    found = growth(minutes(mib=lambda n: 100.0 + n))

    assert found.grown() == ["memory"]
    assert found.mib_an_hour == pytest.approx(60.0)


def test_sockets_that_are_never_closed_are_told_of() -> None:
    assert growth(minutes(sockets=lambda n: 30 + n)).grown() == ["sockets", "files"]


def test_sockets_that_come_and_go_have_not_grown() -> None:
    assert growth(minutes(sockets=lambda n: 30 + n % 5)).grown() == []
