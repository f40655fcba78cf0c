"""The timeline as text: what repeats is told once and counted, long lists are cut, and lines are wrapped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console

from treenail.adapters.cli.wrapped_lines import write_hanging
from treenail.adapters.embed.timeline import TimelineEntry

# Alike entries are one line if so many come with no more than so many others between them.
_FEWEST_ALIKE: Final = 5
_MOST_BETWEEN: Final = 12
_MOST_VALUES: Final = 4
_LONGEST_VALUE: Final = 200

# What makes two entries of an event alike. Other events name a node or a claim: no two are alike.
_ALIKE_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "PodBecamePending": (),
    "UrgentWork": ("why",),
    "BatchClosed": (),
    "CapacityRanOut": (),
    "ClaimFailed": ("cause",),
    "PlanCommitted": ("because",),
    "LaunchFailed": ("nodeClass", "why"),
    "DisruptionRefused": ("why",),
}


def write_timeline(entries: Sequence[TimelineEntry], console: Console) -> None:
    """Write the entries, a line each, in order; on a terminal none is wider than it."""
    for entry, more, until in condensed(entries):
        said = _fields(entry.fields)
        if more:
            said += f"  (and {more} more like it until {until:.3f})"
        write_hanging(console, f"{entry.at:10.3f}  {entry.event:<26}", said)


def condensed(entries: Sequence[TimelineEntry]) -> Iterator[tuple[TimelineEntry, int, float]]:
    """Yield each entry to be told, how many like it follow shortly, and when the last of these was (s)."""
    runs = _runs(entries)
    within = {number for run in runs for number in run[1:]}
    first = {run[0]: run for run in runs}
    for number, entry in enumerate(entries):
        if number in within:
            continue
        run = first.get(number, [number])
        yield entry, len(run) - 1, entries[run[-1]].at


def _runs(entries: Sequence[TimelineEntry]) -> list[list[int]]:
    """Return the places of alike entries that are told as one."""
    open_runs: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    closed: list[list[int]] = []
    for number, entry in enumerate(entries):
        by = _ALIKE_BY.get(entry.event)
        if by is None:
            continue
        run = open_runs[entry.event, *(str(entry.fields.get(name, "")) for name in by)]
        if run and number - run[-1] > _MOST_BETWEEN + 1:
            closed.append(run.copy())
            run.clear()
        run.append(number)
    closed += open_runs.values()
    return [run for run in closed if len(run) >= _FEWEST_ALIKE]


def _fields(fields: Mapping[str, object]) -> str:
    return "  ".join(f"{name}={_said(value)}" for name, value in fields.items())


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return "/".join(_said(v) for v in value.values())
    if isinstance(value, list):
        more = f",... ({len(value)})" if len(value) > _MOST_VALUES else ""
        return ",".join(_said(v) for v in value[:_MOST_VALUES]) + more
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
