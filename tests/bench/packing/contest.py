"""One contest: both sides decide on one input, taking turns."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.bench.packing.contestants import Contestant, karpenter, treenail
from tests.bench.packing.decisions import Decision, cheapest
from tests.bench.packing.freshness import Pods
from tests.bench.packing.spot import Launches
from tests.bench.packing.workloads import manifests

KARPENTER: Final = "karpenter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An input: a workload of so many pods by a seed, and the types to pack it onto."""

    workload: str
    pods: int
    catalogue: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way of ours: `pods` is how they are given, `settings` are NAME=VALUE."""

    name: str
    pods: Pods = Pods.BARE
    settings: tuple[str, ...] = ()


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What a side did with a case. `size` is the pods of the case, `pods` those that this side was given.

    Seconds are medians but `first_seconds`, a fresh process's first decision. Costs are in $/h;
    `launched_cost` is the mean over markets (see spot.py), `types_per_spot_claim` a median. For Karpenter,
    which is not quite the same every time, decision and cost are the cheapest of its runs. `resident_mib` is
    what the process held before its first decision, `peak_mib` the most until after it.
    """

    side: str
    workload: str
    catalogue: str
    size: int
    seed: int
    pods: int
    first_seconds: float
    seconds: float
    processor_seconds: float
    runs: tuple[float, ...]
    placed: int
    unschedulable: int
    nodes: int
    cost: float
    lower_bound: float
    types_per_spot_claim: float | None
    launched_cost: float
    resident_mib: float
    peak_mib: float
    timed_out: bool = False


@dataclass(kw_only=True)
class Contest:
    """How cases are decided. Without `sides`, Karpenter and one bare variant of ours.

    `seconds` of each side are of `runs` decisions after the first of its process. Karpenter decides
    `karpenter_runs` times in all.
    """

    folder: Path
    catalogue: Callable[[str], Path]
    launches: Callable[[str], Launches]
    variants: Sequence[Variant]
    runs: int = 5
    karpenter_runs: int = 5
    with_karpenter: bool = True
    karpenter_options: Sequence[str] = ()

    def measure(self, case: Case) -> list[Measurement]:
        """Decide on `case`, and return what each side did: Karpenter, then the variants.

        Ours are given exactly the pods that Karpenter places.
        """
        path = self.folder / f"{case.workload}-{case.pods}-{case.seed}.json"
        content = manifests(case.workload, case.pods, case.seed)
        path.write_text(json.dumps(content))
        types = self.catalogue(case.catalogue)
        with ExitStack() as stack:
            sides: dict[str, Contestant] = {}
            firsts: dict[str, tuple[Path, Decision]] = {}
            for name, side in self._contestants(types).items():
                # One by one: a process that still starts would slow down another's first decision.
                sides[name] = stack.enter_context(side)
                firsts[name] = (path, side.decide(path))
                if name == KARPENTER:
                    path = _of_placed(path, content, firsts[name][1])
            decided = self._in_turns(sides, firsts)
        launches = self.launches(case.catalogue)
        return [self._measurement(name, case, firsts[name][1], decided[name], launches) for name in sides]

    def _contestants(self, types: Path) -> dict[str, Contestant]:
        """Return the sides, not started yet, Karpenter before all others."""
        sides = {v.name: treenail(types, pods=v.pods, settings=v.settings) for v in self.variants}
        if self.with_karpenter:
            return {KARPENTER: karpenter(types, options=self.karpenter_options), **sides}
        return sides

    def _in_turns(
        self, sides: Mapping[str, Contestant], firsts: Mapping[str, tuple[Path, Decision]]
    ) -> dict[str, list[Decision]]:
        """Return the further decisions of each side: what differs between close ones is the side alone."""
        decided: dict[str, list[Decision]] = {name: [] for name in sides}
        for turn in range(self.runs):
            for name in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
                if name != KARPENTER or turn < self.karpenter_runs - 1:
                    decided[name].append(sides[name].decide(firsts[name][0]))
        return decided

    def _measurement(
        self, side: str, case: Case, first: Decision, later: Sequence[Decision], launches: Launches
    ) -> Measurement:
        best = cheapest([first, *later])
        # One that is only decided on once has no other time than its first.
        timed = later or [first]
        return Measurement(
            side=side,
            workload=case.workload,
            catalogue=case.catalogue,
            size=case.pods,
            seed=case.seed,
            pods=best.pods,
            first_seconds=first.seconds[0],
            seconds=statistics.median(d.seconds[0] for d in timed),
            processor_seconds=statistics.median(d.processor_seconds[0] for d in timed),
            runs=tuple(d.seconds[0] for d in timed),
            placed=len(best.placed),
            unschedulable=len(best.unschedulable),
            nodes=best.nodes,
            cost=best.cost,
            lower_bound=best.lower_bound,
            types_per_spot_claim=launches.types_per_spot_claim(best),
            launched_cost=statistics.fmean(launches.costs(best)),
            resident_mib=first.resident_mib,
            peak_mib=first.peak_mib,
            timed_out=any(d.timed_out for d in (first, *later)),
        )


def _of_placed(path: Path, content: Mapping[str, Any], decision: Decision) -> Path:
    """Return a file of the manifests in `path` less the pods that were not placed."""
    if not decision.unschedulable:
        return path
    less = path.with_suffix(".placed.json")
    less.write_text(json.dumps(without(content, frozenset(decision.unschedulable))))
    return less


def without(content: Mapping[str, Any], pods: frozenset[str]) -> dict[str, Any]:
    """Return a List without some of its pods, given as namespace/name; those of Deployments stay."""
    kept = [
        item
        for item in content["items"]
        if item["kind"] != "Pod" or f"{item['metadata']['namespace']}/{item['metadata']['name']}" not in pods
    ]
    return {**content, "items": kept}
