"""What came of contests, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tests.bench.packing.contest import KARPENTER, Measurement

_NONE: Final = "-"
_HEADINGS: Final = (
    "workload",
    "types",
    "pods",
    "seed",
    "side",
    "pods/s",
    "x Karpenter",
    "x by CPU",
    "x at first",
    "refused",
    "nodes",
    "cost/bound",
    "cost/Karpenter",
    "types per spot claim",
    "launched/Karpenter",
    "peak MiB",
)


def table(measurements: Sequence[Measurement]) -> str:
    """Return a table with a line for every side of every case; "-" where there is nothing to compare with."""
    lines = [_line(one, of_case(one, measurements)) for one in measurements]
    rule = ["---"] * len(_HEADINGS)
    return "".join(f"| {' | '.join(line)} |\n" for line in (_HEADINGS, rule, *lines))


def of_case(one: Measurement, measurements: Iterable[Measurement]) -> list[Measurement]:
    """Return what all sides did with the case of `one`."""
    return [m for m in measurements if _case(m) == _case(one)]


def karpenters(measurements: Iterable[Measurement]) -> Measurement | None:
    """Return the one that is Karpenter's."""
    return next((m for m in measurements if m.side == KARPENTER), None)


def speedup(ours: float, our_pods: int, theirs: float, their_pods: int) -> float:
    """Return how many times their pods per second are ours, by the seconds of each."""
    return (our_pods / ours) / (their_pods / theirs)


def over_bound(one: Measurement, case: Iterable[Measurement]) -> float | None:
    """Return cost by the lower bound that ours told, None where it told none."""
    bound = max(m.lower_bound for m in case)
    return one.cost / bound if bound else None


def _case(one: Measurement) -> tuple[object, ...]:
    return one.workload, one.catalogue, one.size, one.seed


def _line(one: Measurement, case: Sequence[Measurement]) -> tuple[str, ...]:
    theirs = karpenters(case)
    bound = over_bound(one, case)
    return (
        one.workload,
        one.catalogue,
        str(one.size),
        str(one.seed),
        one.side,
        f"{one.pods / one.seconds:,.0f}",
        *(_against(one, theirs) if theirs is not None else (_NONE,) * 3),
        str(one.unschedulable),
        str(one.nodes),
        _NONE if bound is None else f"{bound:.4f}",
        f"{one.cost / theirs.cost:.4f}" if theirs is not None and theirs.cost else _NONE,
        _NONE if one.types_per_spot_claim is None else f"{one.types_per_spot_claim:g}",
        f"{one.launched_cost / theirs.launched_cost:.4f}"
        if theirs is not None and theirs.launched_cost
        else _NONE,
        f"{one.peak_mib:.0f}",
    )


def _against(one: Measurement, theirs: Measurement) -> tuple[str, ...]:
    times = (
        (one.seconds, theirs.seconds),
        (one.processor_seconds, theirs.processor_seconds),
        (one.first_seconds, theirs.first_seconds),
    )
    return tuple(f"{speedup(ours, one.pods, his, theirs.pods):.1f}" for ours, his in times)
