"""Checks a decision against its scenario, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.faults import Fault
from tests.fuzz.check.places import check_places
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.topology.check import Topology, check_topology

Written: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What a check found: everything in `faults` is wrong."""

    faults: tuple[Fault, ...]


def check(items: Sequence[Written], catalogue: Sequence[Written], decision: Written) -> Verdict:
    """Check a decision, as `simulate -o json` writes it, against manifests and a KWOK catalogue."""
    scenario = Scenario(items, catalogue)
    read = Decision(decision, scenario)
    topology = Topology(scenario)
    return Verdict((*read.faults, *check_places(read), *check_topology(read, topology)))
