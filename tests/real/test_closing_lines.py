"""The last lines of a run name what failed."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tests.real.closing_lines import say_what_failed


class Screen:
    """A terminal reporter that keeps its lines."""

    def __init__(self, **reports: pytest.TestReport) -> None:
        self._reports, self.lines = reports, list[str]()

    def getreports(self, name: str) -> list[pytest.TestReport]:
        return [self._reports[name]] if name in self._reports else []

    def section(self, title: str, **_: Any) -> None:
        self.lines.append(title)

    def line(self, text: str) -> None:
        self.lines.append(text)


def report(name: str, when: Literal["setup", "call", "teardown"], error: str) -> pytest.TestReport:
    return pytest.TestReport(name, ("", 0, ""), {}, "failed", error, when)


def test_what_failed_is_named_in_a_line_each_with_its_first_tries() -> None:
    screen = Screen(error=report("a", "teardown", "\n it broke\nhere"), rerun=report("b", "call", "too late"))

    say_what_failed(screen)  # type: ignore[arg-type]

    assert screen.lines == [
        "1 failed",
        "a (teardown): it broke",
        "1 failed at the first try",
        "b (call): too late",
    ]


def test_of_a_run_that_passed_at_the_second_try_nothing_is_said_to_have_failed() -> None:
    screen = Screen(rerun=report("b", "call", "too late"))

    say_what_failed(screen)  # type: ignore[arg-type]

    assert screen.lines == []
