"""What many scenarios came to."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.fuzz.contest import Match, Side, misses

# A cost counts as above Karpenter's from a thousandth more.
_MORE: Final = 1.001


def summary(matches: Sequence[Match]) -> str:
    """Return lines of text: faults, pods placed by one alone, cost over the same pods, time."""
    lines = [f"{len(matches)} scenarios, {sum(m.pods for m in matches)} pods"]
    lines += _faults("treenail", [(m.seed, m.treenail) for m in matches])
    compared = [(m, m.karpenter) for m in matches if m.karpenter is not None]
    if compared:
        lines += _faults("karpenter", [(m.seed, theirs) for m, theirs in compared])
        lines += _compared(compared)
    return "".join(f"{line}\n" for line in lines)


def _faults(name: str, sides: Sequence[tuple[int, Side]]) -> list[str]:
    kinds: Counter[str] = Counter()
    for _, side in sides:
        kinds.update(side.kinds)
    wrong = [seed for seed, side in sides if side.faults]
    placed = sum(side.placed for _, side in sides)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    given, needless = sum(side.given_up for _, side in sides), sum(len(side.needlessly) for _, side in sides)
    over = [seed for seed, side in sides if side.over_with_largest]
    return [
        f"{name}: {placed} pods placed; faults: {told}; in seeds {wrong}",
        f"    {given} preferences given up, {needless} needlessly; with largest types over limits: {over}",
    ]


def _compared(compared: Sequence[tuple[Match, Side]]) -> list[str]:
    missed = {m.seed: len(m.missed) for m, _ in compared if m.missed}
    sound = {m.seed: len(m.missed) for m, _ in compared if misses(m)}
    over = {m.seed: len(m.passed_over) for m, _ in compared if m.passed_over}
    low = {m.seed: len(m.missed_placeholders) for m, _ in compared if m.missed_placeholders}
    beyond = {m.seed: len(m.beyond) for m, _ in compared if m.beyond}
    costs = [
        (m.seed, m.same_pods_cost, theirs.cost) for m, theirs in compared if m.same_pods_cost is not None
    ]
    ours, theirs = sum(c for _, c, _ in costs), sum(c for _, _, c in costs)
    dearer = {s: round(c / other, 4) if other else math.inf for s, c, other in costs if c > other * _MORE}
    times = [(side.seconds, m.treenail.seconds) for m, side in compared if "raised" not in m.treenail.kinds]
    faster = statistics.median(his / mine for his, mine in times)
    total = sum(his for his, _ in times) / sum(mine for _, mine in times)
    return [
        f"pods that karpenter places and treenail does not, by seed: {missed}",
        f"pods there that treenail places and karpenter passed over when their turn came: {over}",
        f"of these in seeds where karpenter breaks no rule, and others have no such cause: {sound}",
        f"placeholders that karpenter places and treenail does not, by seed: {low}",
        f"pods that treenail places and karpenter does not, by seed: {beyond}",
        f"cost over the pods karpenter places, {len(costs)} scenarios: {ours:.4f} to {theirs:.4f} $/h"
        + (f" ({ours / theirs:.4f})" if theirs else ""),
        f"dearer than karpenter, by seed: {dearer}",
        f"karpenter's time over treenail's: median {faster:.2f}, in all {total:.2f}",
    ]
