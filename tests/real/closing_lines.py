"""Says at the very end of a run which real tests were not run, and which needed a second try, and why."""

from __future__ import annotations

from collections import Counter

import pytest


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
