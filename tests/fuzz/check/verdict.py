"""Checks a decision against its scenario, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.fuzz.check.catalogue import Catalogue
from tests.fuzz.check.decision import Decision
from tests.fuzz.check.elsewhere import Elsewhere
from tests.fuzz.check.faults import Fault
from tests.fuzz.check.limits import check_limits, check_min_values, over_with_largest
from tests.fuzz.check.places import check_places
from tests.fuzz.check.ports import check_ports
from tests.fuzz.check.preferences import GivenUp, given_up
from tests.fuzz.check.refusals import check_refusals
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.topology.check import Topology, check_topology
from tests.fuzz.check.volumes import Volumes, check_volumes

Written: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What a check found: everything in `faults` is wrong.

    `over_with_largest` are the pools that would go over a limit if each claim took its largest type.
    """

    faults: tuple[Fault, ...]
    over_with_largest: tuple[str, ...]
    given_up: tuple[GivenUp, ...]


def check(items: Sequence[Written], catalogue: Sequence[Written] | Catalogue, decision: Written) -> Verdict:
    """Check a decision, as `simulate -o json` writes it, against manifests and a KWOK catalogue."""
    scenario = Scenario(items, catalogue)
    read = Decision(decision, scenario)
    topology, volumes = Topology(scenario), Volumes(scenario)
    elsewhere = Elsewhere(read, topology, volumes)
    return Verdict(
        faults=(
            *read.faults,
            *check_places(read),
            *check_ports(read),
            *check_volumes(read, volumes),
            *check_topology(read, topology),
            *check_limits(read),
            *check_min_values(read),
            *check_refusals(read, elsewhere),
        ),
        over_with_largest=tuple(over_with_largest(read)),
        given_up=tuple(given_up(read, elsewhere)),
    )
