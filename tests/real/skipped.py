"""Says at the very end of a run which real tests were skipped, why, and how to run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    yield
    # By reason, then by file: nobody reads a hundred names, and everybody should see that some are missing.
    skipped: dict[str, Counter[str]] = {}
    for report in terminalreporter.getreports("skipped"):
        file = report.nodeid.partition("::")[0]
        if file.startswith("tests/real/") and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            skipped.setdefault(reason, Counter())[file] += 1
    for reason, files in sorted(skipped.items()):
        terminalreporter.section(f"{files.total()} tests on real parts were not run", bold=True, yellow=True)
        terminalreporter.line(reason)
        for file, count in sorted(files.items()):
            terminalreporter.line(f"  {file}: {count}")
