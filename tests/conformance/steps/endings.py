"""How many nodes are expected to have ended, why, how many at a time, and in which order their pods did."""

from __future__ import annotations

from collections import Counter
from typing import cast

from tests.conformance.stage import Stage, Step


def ended(**causes: int) -> Step:
    """Expect how many nodes have ended so far, by cause."""

    def check(stage: Stage) -> None:
        over = [record.cause for record in stage.rehearsal.history() if record.terminated_at is not None]
        assert Counter(over) == causes, over

    return check


def first_wave(count: int) -> Step:
    """Expect how many nodes were given up at first, within a second."""

    def check(stage: Stage) -> None:
        given_up = [e for e in stage.rehearsal.timeline.entries if e.event == "DisruptNodes"]
        first = [e for e in given_up if e.at <= given_up[0].at + 1]
        assert sum(len(cast(list[str], e.fields["nodes"])) for e in first) == count

    return check


def most_at_once(count: int) -> Step:
    """Expect that no more nodes than so many were ever on their way out, and that some went."""

    def check(stage: Stage) -> None:
        going: dict[str, None] = {}
        most = 0
        for entry in stage.rehearsal.timeline.entries:
            if entry.event == "DisruptNodes":
                going |= dict.fromkeys(cast(list[str], entry.fields["nodes"]))
            elif entry.event == "InstanceTerminated":
                going.pop(str(entry.fields["node"]), None)
            most = max(most, len(going))
        assert 0 < most <= count, most

    return check


def counted(metric: str, value: float, **labels: str) -> Step:
    """Expect what a counter says."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.telemetry.counted(metric, **labels) == value

    return check


def order_of_ends(*names: str) -> Step:
    """Expect that pods were evicted in this order, each named by what its name begins with."""

    def check(stage: Stage) -> None:
        records = [r for r in stage.rehearsal.cluster.events() if r.event.reason == "Evicted"]
        evicted = [r.event.about.name for r in sorted(records, key=lambda r: r.first_at)]
        assert len(evicted) == len(names), evicted
        assert all(one.startswith(name) for one, name in zip(evicted, names, strict=True)), evicted

    return check
