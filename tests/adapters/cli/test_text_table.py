from __future__ import annotations

import io

import pytest
from rich.console import Console

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.text_table import write_table

HEADERS = ("node", "type", "cause")
ROWS = [
    ("ip-192-168-32-4.eu-west-2.compute.internal", "c6g.4xlarge", "underutilized"),
    ("ip-192-168-64-4.eu-west-2.compute.internal", "c6g.xlarge", ""),
]


def written(width: int, *, terminal: bool = True, rows: list[tuple[str, ...]] | None = None) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    write_table(console, HEADERS, ROWS if rows is None else rows)
    return out.getvalue().splitlines()


def test_a_row_is_a_line_where_the_terminal_is_wide_enough() -> None:
    lines = written(80)

    assert [line.split() for line in lines] == [list(HEADERS), list(ROWS[0]), list(ROWS[1][:2])]
    assert [line.index(word) for line, word in zip(lines[1:], ("c6g.4", "c6g.x"), strict=True)] == [45, 45]


def test_a_narrow_terminal_has_each_row_as_lines_that_name_what_they_hold() -> None:
    assert written(60) == [
        "ip-192-168-32-4.eu-west-2.compute.internal",
        "  type=c6g.4xlarge  cause=underutilized",
        "ip-192-168-64-4.eu-west-2.compute.internal",
        "  type=c6g.xlarge",
    ]


@pytest.mark.parametrize("width", [46, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(width: int) -> None:
    lines = written(width)

    assert max(map(len, lines)) <= width
    assert all(cell in "\n".join(lines) for row in ROWS for cell in row)


def test_a_pipe_has_one_line_for_each_row_however_long() -> None:
    out = io.StringIO()

    write_table(console_on(out), HEADERS, [(*ROWS[0][:2], "x" * 500)])

    assert [len(line.split()) for line in out.getvalue().splitlines()] == [3, 3]


def test_a_row_may_lack_its_last_cells_and_its_first_may_be_empty() -> None:
    assert written(20, rows=[("cost", "side A"), ("", "side B", "lower")]) == [
        "cost",
        "  type=side A",
        "  type=side B  cause=lower",
    ]


def test_what_looks_like_markup_is_written_as_it_is() -> None:
    assert written(80, rows=[("[bold]n[/bold]", "[red]", "")])[1].split() == ["[bold]n[/bold]", "[red]"]
