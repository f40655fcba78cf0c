"""Says at the very end of a run which real tests were not run, which needed a second try, and what failed."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

_LONGEST: Final = 300


def say_what_was_skipped(reporter: pytest.TerminalReporter) -> None:
    """Say which tests were not run, and why: by reason, then by file.

    Nobody reads a hundred names, and everybody should see that some are missing.
    """
    skipped: dict[str, Counter[str]] = {}
    for report in reporter.getreports("skipped"):
        file = report.nodeid.partition("::")[0]
        if file.startswith("tests/real/") and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            skipped.setdefault(reason, Counter())[file] += 1
    for reason, files in sorted(skipped.items()):
        reporter.section(f"{files.total()} tests on real parts were not run", bold=True, yellow=True)
        reporter.line(reason)
        for file, count in sorted(files.items()):
            reporter.line(f"  {file}: {count}")


def say_what_was_tried_again(reporter: pytest.TerminalReporter) -> None:
    """Say which tests failed at their first try, and how: somebody should look into each."""
    failed = sorted(reporter.getreports("rerun"), key=lambda report: report.nodeid)
    if failed:
        reporter.section(f"{len(failed)} tests on real parts were tried again", bold=True, yellow=True)
    for report in failed:
        reporter.line(f"{report.nodeid} ({report.when})")
        reporter.line(report.longreprtext)
        for name, text in report.sections:
            reporter.line(f"--- {name}")
            reporter.line(text)


def say_what_failed(reporter: pytest.TerminalReporter) -> None:
    """Say in a line each what failed, and why, for whoever sees only the end of a long log.

    A test is named with the part of it that failed: setup, call or teardown. First tries are named too.
    """
    failed = [*reporter.getreports("failed"), *reporter.getreports("error")]
    _say_in_a_line_each(reporter, "failed", failed)
    if failed:
        _say_in_a_line_each(reporter, "failed at the first try", reporter.getreports("rerun"))


def _say_in_a_line_each(
    reporter: pytest.TerminalReporter, what: str, reports: list[pytest.TestReport]
) -> None:
    if reports:
        reporter.section(f"{len(reports)} {what}", bold=True, red=True)
    for report in sorted(reports, key=lambda report: report.nodeid):
        reporter.line(f"{report.nodeid} ({report.when}): {_cause(report)}")


def _cause(report: pytest.TestReport) -> str:
    """Return the first line of the error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:_LONGEST] if lines else "no error is told"
