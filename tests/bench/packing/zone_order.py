"""Whether pods spread over zones could have been placed one after the other, each as it was allowed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.bench.packing.decisions import Claim, Decision
from tests.bench.packing.workloads import ZONE

# The label that the spread of diverse pods selects by.
_LABEL: Final = "my-label"
_TRIES: Final = 200


@dataclass(frozen=True, slots=True)
class _Placed:
    """A pod in its zone, and the label value that it is to be spread beside, if any."""

    name: str
    label: str
    zone: str
    beside: str = ""


def in_no_order(items: Iterable[Mapping[str, Any]], decision: Decision, zones: Sequence[str]) -> list[str]:
    """Return the pods that no order was found for, of the diverse workload on new nodes; none if one was.

    Orders are tried by lot, and whoever is spread goes as soon as it may: some order may not be found.
    """
    placed = _read(items, decision)
    fewest = [one.name for one in placed if one.beside]
    for seed in range(_TRIES):
        left = _place(placed, zones, random.Random(seed))
        if len(left) < len(fewest):
            fewest = left
        if not fewest:
            break
    return fewest


def _read(items: Iterable[Mapping[str, Any]], decision: Decision) -> list[_Placed]:
    zone = {name: _zone_of(claim) for claim in decision.node_claims for name in claim.pods}
    found = []
    for item in items:
        if item["kind"] != "Pod":
            continue
        name, label = f"default/{item['metadata']['name']}", item["metadata"]["labels"].get(_LABEL, "")
        own = [c for c in item["spec"].get("topologySpreadConstraints", ()) if c["topologyKey"] == ZONE]
        beside = own[0]["labelSelector"]["matchLabels"][_LABEL] if own else ""
        if zone[name] and (label or beside):
            found.append(_Placed(name, label, zone[name], beside))
        elif beside:
            raise ValueError(f"{name} is spread over zones, and its node may be in any")
    return found


def _zone_of(claim: Claim) -> str:
    values = [r.values for r in claim.requirements if r.key == ZONE and r.operator == "In"]
    return values[0][0] if values and len(values[0]) == 1 else ""


def _place(placed: Sequence[_Placed], zones: Sequence[str], dice: random.Random) -> list[str]:
    """Place all in a drawn order, as far as that goes; return those left over."""
    spread = dice.sample([one for one in placed if one.beside], sum(bool(one.beside) for one in placed))
    others = dice.sample([one for one in placed if not one.beside], sum(not one.beside for one in placed))
    counts: Counter[tuple[str, str]] = Counter()

    def allowed(one: _Placed) -> bool:
        there = counts[one.beside, one.zone] + (one.label == one.beside)
        return there - min(counts[one.beside, zone] for zone in zones) <= 1

    while spread:
        following = next((one for one in spread if allowed(one)), None)
        if following is not None:
            spread.remove(following)
        elif others:
            following = others.pop()
        else:
            break
        counts[following.label, following.zone] += 1
    return sorted(one.name for one in spread)
