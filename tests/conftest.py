"""What every test runs under."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

import pytest
from hypothesis import settings

from tests.real.closing_lines import say_what_failed, say_what_was_skipped, say_what_was_tried_again

BARE_NAMES: Final = frozenset({"actors", "adapters", "domain", "testing"})
# A rehearsal makes much and keeps much: by Python's own thresholds collections take a fifth of the time.
COLLECTIONS: Final = (20_000, 20, 20)

settings.register_profile("quick", deadline=None, max_examples=50, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, max_examples=5_000, database=None, print_blob=True)


class _BareNames(MetaPathFinder):
    """Refuses to load our folders under their bare names, which would make a second copy of every class."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in BARE_NAMES:
            raise ImportError(f"import treenail.{fullname}, not {fullname}")
        return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the full counts of seeds and examples")


def pytest_configure(config: pytest.Config) -> None:
    sys.meta_path.insert(0, _BareNames())
    settings.load_profile("soak" if config.getoption("--soak") else "quick")


def pytest_collection_finish() -> None:
    # What is there by now is there to stay: no collection need look at it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    yield
    say_what_was_tried_again(terminalreporter)
    say_what_was_skipped(terminalreporter)
    say_what_failed(terminalreporter)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("seeds")
    if mark is not None:
        count = mark.kwargs["soak" if metafunc.config.getoption("--soak") else "quick"]
        metafunc.parametrize("seed", range(1, count + 1))


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Fail a test that leaves a thread behind: an actor, a pump or a worker nobody stopped."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=5)
        assert not thread.is_alive(), f"{thread.name} was left running"
