"""The option `--report`: a page of what was rehearsed or decided, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.report.story import Story

ReportFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write what happened as one HTML page, too."),
]


def writable(path: Path | None) -> None:
    """Make sure that a report can be written, before anything takes time.

    Raises:
        BadInputError: it cannot.
    """
    if path is None:
        return
    if path.is_dir():
        raise BadInputError(f"--report {path}: is a folder; name a file, such as {path / 'report.html'}")
    if not path.parent.is_dir():
        raise BadInputError(f"--report {path}: there is no folder {path.parent}")


def names_of(files: Sequence[str]) -> str:
    """Return the names of the manifests' files, as a title has them."""
    return ", ".join(Path(f).name if f != "-" else "standard input" for f in files)


def write_page(path: Path, story: Story) -> None:
    """Write the page of a story, whole or not at all.

    Raises:
        BadInputError: the file cannot be written.
    """
    from treenail.adapters.report.page import render  # noqa: PLC0415 (templates take time; few ask for them)

    page = render(story)
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise BadInputError(f"--report {path}: {error.strerror}") from None
