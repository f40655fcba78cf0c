"""A table as text, that a narrow terminal does not cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from treenail.adapters.cli.wrapped_lines import write_hanging


def write_table(console: Console, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows of cells under their headers; a row may lack the last ones.

    On a terminal that is narrower than the table each row is written as its first cell, and the others below
    it as `header=value`: half a name is of no use. Empty cells are left out there.
    """
    table = Table(*headers, box=None)
    for row in rows:
        table.add_row(*map(Text, row))
    if not console.is_terminal or _width(table, console) <= console.width:
        console.print(table)
        return
    for first, *others in rows:
        if first:
            write_hanging(console, "", first)
        said = (f"{name}={value}" for name, value in zip(headers[1:], others, strict=False) if value)
        write_hanging(console, "  ", "  ".join(said))


def _width(table: Table, console: Console) -> int:
    """Return how wide a table is if nothing in it is wrapped."""
    unlimited = console.options.update(max_width=console.width * 1_000)
    return Measurement.get(console, unlimited, table).maximum
