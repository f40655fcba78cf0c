"""The command line: `treenail COMMAND`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.cli.at_option import joined
from treenail.adapters.cli.problems import BAD_INPUT, BadInputError

_MOST_PROBLEMS: Final = 20
# What the extra `cli` brings; all else that may be missing comes with `controller`, which brings these, too.
_TERMINAL: Final = ("typer", "rich")
# Commands that reach a cluster or AWS, at least unless options say otherwise.
_REACHING: Final = frozenset({"controller", "explain", "plan", "snapshot", "takeover", "top"})


def main() -> None:
    """Run a command; bad input ends with a line on stderr for each error, and exit code 2."""
    try:
        arguments = joined(sys.argv[1:]) or ["--help"]
        if arguments[0] == "controller":
            arguments = import_module("treenail.adapters.cli.controller").spelled_out(arguments)
        # Imported here, to say what is missing where Treenail was installed for tests alone.
        application = import_module("treenail.adapters.cli.application")
        app = application.app_of(application.commands_for(arguments))
        code = app(arguments, standalone_mode=False)
    except ManifestError as error:
        problems = [str(one) for one in (error, *error.others)]
    except BadInputError as error:
        problems = [str(error)]
    except ModuleNotFoundError as error:
        if (error.name or "treenail").startswith("treenail"):
            raise
        draws = error.name in _TERMINAL and _REACHING.isdisjoint(sys.argv[1:2])
        extra = "cli" if draws else "controller"
        problems = [
            f"this command needs {error.name}, which is not installed: pip install 'treenail[{extra}]'"
        ]
    except Exception as error:
        # Typer and click say in a `show` method that an error is the user's.
        if not hasattr(error, "format_message"):
            raise
        problems = [str(error.format_message())]
    else:
        sys.exit(code if isinstance(code, int) else 0)
    for problem in problems[:_MOST_PROBLEMS]:
        sys.stderr.write("treenail: " + " ".join(problem.split()) + "\n")
    if len(problems) > _MOST_PROBLEMS:
        sys.stderr.write(f"treenail: and {len(problems) - _MOST_PROBLEMS} more errors\n")
    sys.exit(BAD_INPUT)
