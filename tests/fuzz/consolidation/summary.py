"""What consolidating many clusters came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.fuzz.consolidation.contest import Match, Side

# A cost counts as above Karpenter's from a thousandth more.
_MORE: Final = 1.001


def summary(matches: Sequence[Match]) -> str:
    """Return lines of text: rules broken, nodes missed, cost at rest."""
    nodes, pods = sum(m.nodes for m in matches), sum(m.pods for m in matches)
    lines = [f"{len(matches)} clusters, {nodes} nodes, {pods} pods, {sum(m.cost for m in matches):.2f} $/h"]
    lines += _side("treenail", [(m.seed, m.treenail) for m in matches])
    compared = [(m, m.karpenter) for m in matches if m.karpenter is not None]
    if compared:
        lines += _side("karpenter", [(m.seed, theirs) for m, theirs in compared])
        lines += _compared(compared)
    return "".join(f"{line}\n" for line in lines)


def _side(name: str, sides: Sequence[tuple[int, Side]]) -> list[str]:
    broken = {seed: side.broken[0] for seed, side in sides if side.broken}
    of = [side for _, side in sides]
    rest = f"{sum(s.nodes for s in of)} nodes at rest, {sum(s.cost for s in of):.2f} $/h"
    steps = f"{sum(s.steps for s in of)} steps in {sum(s.passes for s in of)} passes"
    most = f"at most {max(s.passes for s in of)} for a cluster"
    moved = f"{sum(s.moved for s in of)} pods moved, {sum(s.bought for s in of)} nodes bought"
    lost = f"{sum(s.lost for s in of)} pods without a place, {sum(s.seconds for s in of):.1f} s"
    return [
        f"{name}: {rest}; {steps}, {most}",
        f"    {moved}, {lost}",
        f"    clusters with a broken rule: {len(broken)}",
        *(f"        {seed}: {what}" for seed, what in broken.items()),
    ]


def _compared(compared: Sequence[tuple[Match, Side]]) -> list[str]:
    fair = [(m, theirs) for m, theirs in compared if not (m.treenail.lost or theirs.lost)]
    sound = [(m, theirs) for m, theirs in fair if not m.treenail.broken]
    mine, his = sum(m.treenail.cost for m, _ in sound), sum(theirs.cost for _, theirs in sound)
    dearer = {
        m.seed: round(m.treenail.cost / theirs.cost, 3)
        for m, theirs in sound
        if m.treenail.cost > theirs.cost * _MORE
    }
    cheaper = sum(m.treenail.cost * _MORE < theirs.cost for m, theirs in sound)
    missed = {m.seed: m.missed for m, _ in compared if m.missed}
    placeless = {m.seed: m.placeless for m, _ in compared if m.placeless}
    left = {m.seed: m.dearer for m, _ in compared if m.dearer}
    return [
        f"cost at rest, {len(sound)} clusters where no pod lost its place: {mine:.2f} to {his:.2f} $/h"
        + (f" ({mine / his:.4f})" if his else ""),
        f"cheaper than karpenter: {cheaper} clusters; dearer, by seed: {dearer}",
        f"nodes that karpenter deletes and treenail keeps: {sum(map(len, missed.values()))}",
        *(f"    {seed}: {name}: {why}" for seed, names in missed.items() for name, why in names.items()),
        f"nodes that karpenter deletes though its pods do not fit elsewhere, by seed: {placeless}",
        f"nodes that karpenter replaces and treenail keeps, $/h by seed: {left}",
    ]
