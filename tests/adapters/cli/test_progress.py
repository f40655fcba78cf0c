from __future__ import annotations

import io

from treenail.adapters.cli.progress import Waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_wait_at_a_terminal_shows_how_far_it_is_and_leaves_nothing_behind() -> None:
    terminal = Terminal()

    with Waiting("rehearsing", 600, terminal, silent_seconds=0) as waiting:
        waiting.at(150)
        waiting.at(300)

    assert "rehearsing" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_the_first_second_is_silent() -> None:
    terminal = Terminal()

    with Waiting("rehearsing", 600, terminal, silent_seconds=60) as waiting:
        waiting.at(300)

    assert terminal.getvalue() == ""


def test_a_file_or_pipe_is_told_nothing() -> None:
    pipe = io.StringIO()

    with Waiting("rehearsing", 600, pipe, silent_seconds=0) as waiting:
        waiting.at(300)

    assert pipe.getvalue() == ""
