from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from treenail.adapters.cli.timeline_report import condensed, write_timeline
from treenail.adapters.embed.timeline import TimelineEntry


def entry(at: float, event: str, **fields: object) -> TimelineEntry:
    return TimelineEntry(at=at, event=event, fields=fields)


def failed(at: float, cause: str = "insufficient_capacity") -> TimelineEntry:
    return entry(at, "ClaimFailed", nodeClaim=f"c-{at}", cause=cause)


def written(*entries: TimelineEntry, width: int | None = None) -> str:
    out = io.StringIO()
    console = (
        Console(file=out, width=width, force_terminal=True, color_system=None)
        if width
        else Console(file=out, width=100_000)
    )
    write_timeline(entries, console)
    return out.getvalue()


def test_what_repeats_is_told_once_with_its_number_and_its_end() -> None:
    out = written(*(failed(at) for at in range(30)))

    told = "nodeClaim=c-0  cause=insufficient_capacity  (and 29 more like it until 29.000)"
    assert out == f"     0.000  {'ClaimFailed':<26}{told}\n"


def test_few_alike_entries_are_all_told() -> None:
    assert len(written(*(failed(at) for at in range(4))).splitlines()) == 4


def test_entries_of_another_cause_are_told_by_themselves() -> None:
    out = written(*(failed(at, "launch_failed" if at == 7 else "insufficient_capacity") for at in range(20)))

    assert [line.split()[0] for line in out.splitlines()] == ["0.000", "7.000"]


def test_what_comes_back_after_much_else_is_told_again() -> None:
    others = [entry(10 + n, "NodeRegistered", node=f"n-{n}") for n in range(40)]
    out = written(*(failed(at) for at in range(6)), *others, *(failed(at) for at in range(60, 66)))

    assert sum("ClaimFailed" in line for line in out.splitlines()) == 2


def test_long_lists_and_long_texts_are_cut() -> None:
    out = written(
        entry(1, "CapacityRanOut", offerings=[f"spot/m5.large/z{n}" for n in range(900)]),
        entry(2, "LaunchFailed", why="x" * 5000),
    )

    assert "spot/m5.large/z3,... (900)" in out
    assert max(map(len, out.splitlines())) < 300


def test_no_line_is_wider_than_a_terminal() -> None:
    out = written(entry(1, "LaunchFailed", why="a word and " * 40), width=80)

    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) > 3


@given(st.lists(st.sampled_from(["ClaimFailed", "NodeLaunched", "BatchClosed", "UrgentWork"]), max_size=80))
def test_every_entry_is_told_or_counted(events: list[str]) -> None:
    entries = [entry(float(at), event) for at, event in enumerate(events)]
    told = list(condensed(entries))

    assert sum(1 + more for _, more, _ in told) == len(entries)
    assert [one.at for one, _, _ in told] == sorted(one.at for one, _, _ in told)
