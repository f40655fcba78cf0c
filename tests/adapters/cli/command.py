"""The command line, called in this process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from treenail.adapters.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
INFLATE = str(EXAMPLES / "001-inflate.yaml")
PLAYED = str(EXAMPLES / "005-kwok.yaml")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """What is said on stderr, but for the line that says which cluster is asked."""
        first, _, rest = self.err.partition("\n")
        return rest if first.startswith("treenail: context ") else self.err


def treenail(*arguments: str) -> Ran:
    """Run `treenail` with these arguments."""
    before, out, err = sys.argv, io.StringIO(), io.StringIO()
    sys.argv = ["treenail", *arguments]
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = before
    return Ran(code, out.getvalue(), err.getvalue())
