"""The files that a sweep reads, placed so that another machine finds them by the same options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from treenail.adapters.api.documents import STDIN, files_in, read_text
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.rehearsal_options import RehearsalOptions

_APPLY = "apply="


@dataclass(frozen=True, slots=True)
class SweepFiles:
    """Options whose paths all lie within the working directory, and the content by path."""

    options: RehearsalOptions
    contents: dict[str, bytes]


def placed_files(options: RehearsalOptions) -> SweepFiles:
    """Read all files that `options` name. A path that leads out of the working directory gets another one.

    Raises:
        BadInputError: one is standard input.
        ManifestError: one cannot be read.
    """
    contents: dict[str, bytes] = {}

    def place(path: str) -> str:
        if path == STDIN:
            raise BadInputError("-f - is standard input, which another machine cannot read: name a file")
        target = PurePosixPath(path)
        if target.is_absolute() or ".." in target.parts:
            target = PurePosixPath("outside", f"{len(contents)}", Path(path).resolve().name)
        for file in files_in(path):
            within = target if str(file) == path else target / Path(file).name
            contents[str(within)] = read_text(file)[1]
        return path if target == PurePosixPath(path) else str(target)

    prices = options.price_overrides_file
    moved = replace(
        options,
        files=tuple(place(file) for file in options.files),
        others=tuple(place(file) for file in options.others),
        actions=tuple(
            (time, _APPLY + place(action.removeprefix(_APPLY)) if action.startswith(_APPLY) else action)
            for time, action in options.actions
        ),
        price_overrides_file=None if prices is None else Path(place(str(prices))),
    )
    return SweepFiles(moved, contents)
