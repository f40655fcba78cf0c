"""Treenail as one of the sides: it decides once for every line on stdin.

    python -m tests.bench.packing.ours CATALOGUE [--pods bare|decoded] [--set NAME=VALUE]...

A line is the path of a file of manifests, or empty for the last file once more; the answer is a line of JSON,
a decision or {"error": ...}. Reading is what `treenail simulate` does. Timed is `pack` alone, from pods that
are decoded with nothing derived (see freshness.py) to the plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path
from traceback import format_exc
from typing import IO, Any, get_type_hints

import msgspec
import pytest

from tests.bench.packing.decisions import Claim, Decision, Failure, Requirement
from tests.bench.packing.freshness import Pods, Pristine, forget, remembered
from tests.untroubled import untroubled
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.adapters.embed import simulation
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.adapters.solver.garbage import uncollected
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.packing import pods_to_come
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import PackingSettings, Problem
from treenail.domain.packing.refusal_reasons import sentence


class KeptError(Exception):
    """A decision left something behind that would help the next one, which would then look too fast."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.packing.ours",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("catalogue", type=Path, help="instance types, in the JSON of the KWOK provider")
    parser.add_argument("--pods", type=Pods, choices=list(Pods), default=Pods.BARE, help="how they are given")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of packing"
    )
    asked = parser.parse_args()
    side = Treenail(read_catalogue(asked.catalogue), settings_of(asked.set), asked.pods)
    answer(side, sys.stdin.buffer, sys.stdout.buffer)


def settings_of(written: Iterable[str]) -> PackingSettings:
    """Return the packer's settings with some of them set, as "order=memory".

    Raises:
        ValueError: there is no such setting, or it has no such value.
    """
    kinds = get_type_hints(PackingSettings)
    changed: dict[str, Any] = {}
    for one in written:
        name, _, value = one.partition("=")
        if name not in {field.name for field in fields(PackingSettings)}:
            raise ValueError(f"packing has no setting {name!r}")
        changed[name] = _value(kinds[name], value)
    return replace(PackingSettings(), **changed)


def _value(kind: Any, written: str) -> object:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(written)
    return msgspec.convert(written, kind, strict=False)


def answer(side: Treenail, lines: IO[bytes], to: IO[bytes]) -> None:
    """Decide once for every line, until there are no more."""
    scenario: Scenario | None = None
    for line in lines:
        result: Decision | Failure
        try:
            path = line.decode().rstrip("\n")
            scenario = side.read(Path(path)) if path else scenario
            result = side.decide(scenario) if scenario else Failure("there is no last file")
        except ManifestError as error:
            scenario, result = None, Failure(str(error))
        except Exception:  # noqa: BLE001 (whatever went wrong with one decision, others can be made)
            result = Failure(format_exc())
        to.write(msgspec.json.encode(result) + b"\n")
        to.flush()


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is decided on, and the names of what the plan has by number."""

    pristine: Pristine
    read: simulation.Simulation


class Treenail:
    """The packer with one catalogue and one set of settings."""

    def __init__(self, types: tuple[InstanceType, ...], settings: PackingSettings, pods: Pods) -> None:
        self._types = types
        self._settings = settings
        self._pods = pods
        self._decided = False

    def read(self, path: Path) -> Scenario:
        """Read manifests; ManifestError says what is wrong with them."""
        read = read_scenario(path, self._types, self._settings)
        return Scenario(Pristine(problem_of(read), self._pods), read)

    def decide(self, scenario: Scenario) -> Decision:
        """Decide, from fresh objects.

        Raises:
            KeptError: something of this decision was kept for the next one.
            ProblemsMetError: something went wrong that cost no pod its place.
        """
        first, self._decided = not self._decided, True
        problem = scenario.pristine.fresh()
        if not first:
            forget(problem)
        resident, before = _memory("VmRSS"), remembered()
        began, used = time.perf_counter(), time.process_time()
        with uncollected():
            plan = pack(problem)
        took, computed = time.perf_counter() - began, time.process_time() - used
        if not first:
            _check(before)
        return replace_times(
            decision_of(untroubled(plan), scenario.read), took, computed, first=first, resident=resident
        )


def _check(before: Mapping[str, int]) -> None:
    after = remembered()
    grown = sorted(name for name, size in after.items() if size > before.get(name, 0))
    if grown:
        raise KeptError(f"packing keeps something in {', '.join(grown)}: have freshness.py forget it")


def read_scenario(
    path: Path, types: tuple[InstanceType, ...], settings: PackingSettings
) -> simulation.Simulation:
    """Read manifests as `treenail simulate` does."""
    manifests = read_manifests([path])
    decoded = decode_all(manifests, node_classes_optional=True)
    return simulation.Simulation(decoded, simulation.FixedCatalogue(types), settings, manifests=manifests)


def problem_of(read: simulation.Simulation) -> Problem:
    """Return the problem that the simulation would have solved: untouched, for nothing is solved here."""
    taken: list[Problem] = []

    def take(problem: Problem) -> PackingPlan:
        taken.append(problem)
        return PackingPlan()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pods_to_come, "pack_but_last_resorts", take)
        read.decide()
    return taken[0]


def decision_of(plan: PackingPlan, read: simulation.Simulation) -> Decision:
    """Return a plan in the names that its manifests use."""
    names = read.pod_names
    existing: dict[str, list[str]] = {}
    for uid, existing_node in plan.nominations.items():
        existing.setdefault(read.node_of(existing_node), []).append(names[uid])
    refused = {names[uid]: sentence(group.refusals) for group in plan.refused for uid in group.pods}
    return Decision(
        node_claims=tuple(_claim(claim, names) for claim in plan.claims),
        existing={node: tuple(sorted(pods)) for node, pods in sorted(existing.items())},
        unschedulable=refused
        | dict.fromkeys((names[uid] for uid in plan.deferred), "not tried: out of steps"),
        cost=plan.cost,
        pods=len(names),
        seconds=(),
        processor_seconds=(),
        lower_bound=plan.lower_bound,
    )


def replace_times(
    decision: Decision, seconds: float, processor_seconds: float, *, first: bool, resident: float
) -> Decision:
    """Return a decision with what it took."""
    return msgspec.structs.replace(
        decision,
        seconds=(seconds,),
        processor_seconds=(processor_seconds,),
        first=first,
        resident_mib=resident,
        peak_mib=_memory("VmHWM"),
    )


def _claim(claim: PlannedClaim, names: dict[str, str]) -> Claim:
    written = ((r.key, *part) for r in claim.requirements.in_order() for part in r.written())
    return Claim(
        node_pool=claim.pool,
        pods=tuple(names[uid] for uid in claim.pods),
        instance_types=claim.instance_types,
        requirements=tuple(
            Requirement(key, operator.value, tuple(values)) for key, operator, values in written
        ),
        price=claim.price,
    )


def _memory(field: str) -> float:
    """Return a figure of this process in MiB. That of getrusage may be its parent's, from before it began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024


if __name__ == "__main__":
    main()
