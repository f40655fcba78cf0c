"""A pytest plugin: rehearsals and golden files as fixtures. It imports the rest when it is used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from treenail.testing import Conditions, Rehearsal

pytest.register_assert_rewrite("treenail.testing.contracts")

_LINES: Final = 40
_MADE: Final = pytest.StashKey[list["Rehearsal"]]()
_FAILED: Final = pytest.StashKey[bool]()


class Rehearse(Protocol):
    """Makes rehearsals that end with the test."""

    def __call__(self, *, seed: int = 0, conditions: Conditions | None = None) -> Rehearsal: ...


class Golden(Protocol):
    """Compares text with the file `golden/NAME.txt` beside the test; NAME is the test's if none is said."""

    def __call__(self, text: str, name: str = "") -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes golden files anew."""
    group = parser.getgroup("treenail")
    group.addoption("--treenail-update", action="store_true", help="write golden files instead of comparing")


@pytest.fixture
def rehearse(request: pytest.FixtureRequest) -> Iterator[Rehearse]:
    """Give a function that makes rehearsals. A test that fails shows the end of what happened in each."""
    from treenail.testing import Rehearsal  # noqa: PLC0415

    made: list[Rehearsal] = request.node.stash.setdefault(_MADE, [])

    def make(*, seed: int = 0, conditions: Conditions | None = None) -> Rehearsal:
        made.append(Rehearsal(seed=seed, conditions=conditions).__enter__())
        return made[-1]

    yield make
    failed = request.node.stash.get(_FAILED, False)
    for rehearsal in reversed(made):
        rehearsal.__exit__(AssertionError if failed else None, None, None)


@pytest.fixture
def rehearsal(rehearse: Rehearse) -> Rehearsal:
    """Give a rehearsal with seed 0 under calm conditions."""
    return rehearse()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Give a function that compares text with a file beside the test; see `Golden`."""
    from treenail.testing import check_golden  # noqa: PLC0415

    def check(text: str, name: str = "") -> None:
        folder = Path(request.path).parent / "golden"
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name or request.node.name)
        check_golden(text, folder / f"{plain}.txt", update=request.config.getoption("--treenail-update"))

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what happened last in its rehearsals."""
    report = yield
    if call.when == "call" and report.failed:
        item.stash[_FAILED] = True
        for made in item.stash.get(_MADE, []):
            report.sections.append((f"rehearsal with seed {made.seed}", _end_of(made)))
    return report


def _end_of(rehearsal: Rehearsal) -> str:
    from treenail.testing import timeline_text  # noqa: PLC0415

    lines = timeline_text(rehearsal).splitlines()[-_LINES:]
    return "\n".join((*lines, rehearsal.summary()))
