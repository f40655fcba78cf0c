"""The option `--at TIME ACTION`: two values, and repeatable, which Typer does not support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treenail.adapters.cli.problems import BadInputError

AT: Final = "--at"
# No argument of a command line can hold this.
SEPARATOR: Final = "\x00"


def joined(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` with each `--at TIME ACTION` made into one option of one value.

    Raises:
        BadInputError: an `--at` lacks its time or its action.
    """
    rest = iter(arguments)
    result: list[str] = []
    for argument in rest:
        if argument != AT:
            result.append(argument)
            continue
        time, action = next(rest, None), next(rest, None)
        if time is None or action is None:
            raise BadInputError("--at needs a time and an action, such as --at 5m scale=inflate:0")
        result.append(f"{AT}={time}{SEPARATOR}{action}")
    return result


def taken_apart(value: str) -> tuple[str, str]:
    """Return the time and the action of an option that `joined` made.

    Raises:
        BadInputError: it was written as `--at=...`, which has no place for two values.
    """
    time, separator, action = value.partition(SEPARATOR)
    if not separator:
        raise BadInputError(f"--at={time}: write --at TIME ACTION, without the equals sign")
    return time, action
