from __future__ import annotations

import subprocess
import sys

import pytest

from tests.adapters.cli.command import treenail
from treenail.adapters.cli.application import COMMANDS, app_of, commands_for

# What brings the whole system, or a third of a second of imports.
HEAVY = ("treenail.actors", "treenail.adapters.embed", "treenail.adapters.fake", "kubernetes", "boto3")


def imported_by(*arguments: str) -> set[str]:
    """Return the packages of HEAVY that a command imports, in a process of its own."""
    code = (
        "import sys; from treenail.adapters.cli.application import app_of, commands_for; "
        f"app_of(commands_for({arguments!r})); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return {name for name in done.stdout.split() if name in HEAVY}


@pytest.mark.parametrize("command", ["takeover", "explain", "convert", "catalogue", "--version"])
def test_a_command_that_runs_no_system_imports_none(command: str) -> None:
    assert imported_by(command) == set()


def test_a_command_that_runs_the_system_imports_it() -> None:
    assert "treenail.adapters.embed" in imported_by("rehearse")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("rehears",)])
def test_all_commands_are_there_to_be_listed_or_suggested(arguments: tuple[str, ...]) -> None:
    assert commands_for(arguments) == COMMANDS


def test_help_lists_every_command() -> None:
    ran = treenail("--help")

    assert ran.code == 0
    assert [name for name in COMMANDS if f" {name} " not in ran.out] == []


def test_each_command_is_read_alone_as_with_the_others() -> None:
    for name in COMMANDS:
        app = app_of((name,))
        assert len(app.registered_commands) + len(app.registered_groups) == 1


def test_a_command_that_is_not_there_is_bad_input() -> None:
    ran = treenail("rehears")

    assert ran.code == 2
    assert "rehears" in ran.err
