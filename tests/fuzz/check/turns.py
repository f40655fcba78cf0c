"""Whom a scheduler that takes the largest pods first passed over, so that others got what was left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.elsewhere import Elsewhere
from tests.fuzz.check.pods import Pod, Shape
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.topology.check import Topology
from tests.fuzz.check.volumes import Volumes

Written: TypeAlias = Mapping[str, Any]


def passed_over(items: Sequence[Written], catalogue: Sequence[Written], decision: Written) -> dict[str, str]:
    """Return refused pods that had a place when their turn came, and where.

    Pods come by what they ask for: cpu, then memory. When one's turn came, those that ask for as much or
    more had the places that they were given, and nobody else had any.
    """
    scenario = Scenario(items, catalogue)
    topology, volumes = Topology(scenario), Volumes(scenario)
    known: dict[Shape, str | None] = {}
    found = {}
    for name in decision["unschedulable"] or ():
        pod = scenario.pending[name]
        if pod.shape not in known:
            known[pod.shape] = _where(pod, decision, scenario, topology, volumes)
        where = known[pod.shape]
        if where is not None:
            found[name] = where
    return found


def _where(
    pod: Pod, decision: Written, scenario: Scenario, topology: Topology, volumes: Volumes
) -> str | None:
    then = _before(pod, decision, scenario)
    there = Elsewhere(Decision(then, scenario), topology, volumes).among_these(pod)
    if there is not None:
        return there
    # Of limits, a claim took then what the largest type it could have been has.
    widest = [{**claim, "instanceTypes": list(scenario.catalogue)} for claim in then["nodeClaims"]]
    return Elsewhere(Decision({**then, "nodeClaims": widest}, scenario), topology, volumes).anew(pod)


def _before(pod: Pod, decision: Written, scenario: Scenario) -> dict[str, Any]:
    """Return a decision as it was at the turn of `pod`."""

    def there(names: Sequence[str]) -> list[str]:
        return [name for name in names if _size(scenario.pending[name]) >= _size(pod)]

    claims = [{**claim, "pods": there(claim["pods"])} for claim in decision["nodeClaims"] or ()]
    return {
        "nodeClaims": [claim for claim in claims if claim["pods"]],
        "existing": {node: there(names) for node, names in (decision["existing"] or {}).items()},
        "unschedulable": {},
    }


def _size(pod: Pod) -> tuple[int, int]:
    return pod.shape.requests.get("cpu", 0), pod.shape.requests.get("memory", 0)
