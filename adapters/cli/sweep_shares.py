"""The results of a share of a sweep as lines of JSON, such as a pod's log has them, and shares merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from treenail.adapters.api.documents import read_text
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.rehearsal_options import RehearsalOptions
from treenail.adapters.embed.seed_results import SeedResult

Side: TypeAlias = Literal["a", "b"]
MOST_SEEDS: Final = 100_000
_MOST_NAMED: Final = 10


class SweepHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The header of a sweep over all seeds from `first` to `last`.

    `digest` is of the options and all files.
    """

    version: str
    digest: str
    first: int
    last: int
    options: RehearsalOptions

    def __post_init__(self) -> None:
        if self.first < 0 or not 1 <= self.last - self.first + 1 <= MOST_SEEDS:
            raise ValueError(f"first {self.first} and last {self.last} are not 1 to {MOST_SEEDS:,} seeds")
        if not self.options.files:
            raise ValueError("the options name no files")

    @property
    def seeds(self) -> range:
        """All seeds."""
        return range(self.first, self.last + 1)


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    sweep: SweepHeader | None = None
    side: Side = "a"
    result: SeedResult | None = None


_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)
_DECODER: Final = msgspec.json.Decoder(_Line, dec_hook=lambda _, written: Path(written))


def header_of(options: RehearsalOptions, seeds: range, contents: Iterable[bytes]) -> SweepHeader:
    """Return the header of a sweep. `contents` are those of its files."""
    parts = (_ENCODER.encode(options), *contents)
    digest = sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()
    return SweepHeader(
        version=metadata.version("treenail"),
        digest=digest[:16],
        first=seeds[0],
        last=seeds[-1],
        options=options,
    )


def share_of(seeds: range, index: int, shares: int) -> range:
    """Return the seeds of share `index` of so many: every so many-th."""
    return seeds[index::shares]


def lines_of(header: SweepHeader, results: Iterable[tuple[Side, SeedResult]]) -> Iterator[str]:
    """Yield the lines of a share: the header, then a line for each seed and side."""
    yield _ENCODER.encode(_Line(sweep=header)).decode()
    for side, result in results:
        yield _ENCODER.encode(_Line(side=side, result=result)).decode()


def merged(files: Sequence[str]) -> tuple[SweepHeader, dict[Side, tuple[SeedResult, ...]]]:
    """Read the shares of one sweep from files, one after the other in a file, too, in any order.

    What is no JSON, such as a warning in a pod's log, is passed over; a result may be there twice.

    Raises:
        ManifestError: a file cannot be read.
        BadInputError: results are of two sweeps or contradict each other, or some are missing.
    """
    header: SweepHeader | None = None
    found: dict[Side, dict[int, SeedResult]] = {"a": {}, "b": {}}
    for file, number, line in _lines(files):
        if line.sweep is not None:
            if header not in (None, line.sweep):
                raise BadInputError(f"{file}: line {number}: is of another sweep than what comes before it")
            header = line.sweep
        elif header is None:
            raise BadInputError(f"{file}: line {number}: comes before the line that says what is swept")
        elif line.result is not None:
            if line.result.seed not in header.seeds or (line.side == "b" and not header.options.two_sides):
                raise BadInputError(f"{file}: line {number}: no such seed and side are swept")
            before = found[line.side].setdefault(line.result.seed, line.result)
            if before != line.result:
                raise BadInputError(f"{file}: line {number}: seed {before.seed} has other results before")
    if header is None:
        raise BadInputError(f"{files[0]}: holds no results of treenail sweep")
    sides: tuple[Side, ...] = ("a", "b") if header.options.two_sides else ("a",)
    missing = [seed for seed in header.seeds if any(seed not in found[side] for side in sides)]
    if missing:
        raise BadInputError(
            f"{', '.join(files)}: {len(missing):,} of {len(header.seeds):,} seeds are missing: "
            f"{named(missing)}. A share has not ended, or its results are in none of the files"
        )
    return header, {side: tuple(found[side][seed] for seed in header.seeds) for side in sides}


def named(seeds: Sequence[int]) -> str:
    """Name the first of several seeds, and say how many more there are."""
    more = f" and {len(seeds) - _MOST_NAMED:,} more" if len(seeds) > _MOST_NAMED else ""
    return ", ".join(f"{seed}" for seed in seeds[:_MOST_NAMED]) + more


def _lines(files: Sequence[str]) -> Iterator[tuple[str, int, _Line]]:
    for path in files:
        file, data = read_text(path)
        for number, line in enumerate(data.splitlines(), 1):
            if not line.startswith(b"{"):
                continue
            try:
                yield file, number, _DECODER.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadInputError(f"{file}: line {number}: is no result of a share: {error}") from None
