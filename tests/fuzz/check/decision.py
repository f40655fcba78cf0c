"""A decision as a checker reads it, against its scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.homes import Home
from tests.fuzz.check.label_values import Allowed, allowed, merged
from tests.fuzz.check.pods import Pod
from tests.fuzz.check.scenario import Scenario

Written: TypeAlias = Mapping[str, Any]

# Labels that say how far a node is, or which node class it is of: they are not the catalogue's to know.
_NOT_OF_NODES: Final = ("karpenter.sh/registered", "karpenter.sh/initialized")


class Claim:
    """A node to buy, as it was decided: `home` is what it may turn out as, by its types and requirements."""

    def __init__(self, number: int, written: Written, scenario: Scenario) -> None:
        self.name = f"claim {number} ({written['nodePool']})"
        self.pool = scenario.pools[written["nodePool"]]
        self.types: list[str] = list(written["instanceTypes"])
        self.price: float = written["price"]
        self.home = self.pool.new_node(self.name, scenario.catalogue, _lines(written), self.types)


def _lines(written: Written) -> dict[str, Allowed]:
    return merged(
        [
            (line["key"], allowed(line["operator"], line.get("values")))
            for line in written.get("requirements") or ()
            if line["key"] not in _NOT_OF_NODES and "nodeclass" not in line["key"]
        ]
    )


class Decision:
    """Where every pod goes. `faults` is what is wrong already with how it is written down.

    `placed` are the pending pods that got a place, and `refused` those that did not.
    """

    def __init__(self, written: Written, scenario: Scenario) -> None:
        self.scenario = scenario
        self.faults: list[Fault] = []
        self.claims: list[Claim] = []
        self.placed: dict[str, Home] = {}
        self._read_claims(written.get("nodeClaims") or ())
        self._read_existing(written.get("existing") or {})
        self.refused = [name for name in scenario.pending if name in (written.get("unschedulable") or {})]
        self._check_every_pod()

    def _read_claims(self, written: Sequence[Written]) -> None:
        for number, one in enumerate(written):
            if one["nodePool"] not in self.scenario.pools:
                self._fault(f"claim {number}", f"there is no pool {one['nodePool']}")
                continue
            claim = Claim(number, one, self.scenario)
            self.claims.append(claim)
            if not one["pods"]:
                self._fault(claim.name, "has no pods")
            for name in one["pods"]:
                self._place(name, claim.home)

    def _read_existing(self, written: Mapping[str, Sequence[str]]) -> None:
        for node, names in written.items():
            if node not in self.scenario.nodes:
                self._fault(node, "there is no such node")
                continue
            for name in names:
                self._place(name, self.scenario.nodes[node])

    def _place(self, name: str, home: Home) -> None:
        if name not in self.scenario.pending:
            self._fault(name, f"is placed on {home.name}, and is no pending pod")
        elif name in self.placed:
            self._fault(name, f"is placed on {self.placed[name].name} and on {home.name}")
        else:
            self.placed[name] = home

    def _check_every_pod(self) -> None:
        for name in self.scenario.pending:
            if (name in self.placed) is (name in self.refused):
                self._fault(name, "is both placed and refused" if name in self.placed else "has no decision")

    def _fault(self, about: str, what: str) -> None:
        self.faults.append(Fault(Kind.DECISION, about, what))

    # --- who is where

    def newcomers(self, home: Home) -> list[Pod]:
        """Return the pods that this decision puts there."""
        return [self.scenario.pending[name] for name, where in self.placed.items() if where is home]

    def bound(self, home: Home) -> list[Pod]:
        """Return the pods that were there before, with those that are leaving."""
        return [pod for pod in self.scenario.pods.values() if pod.node and pod.node == home.name]

    def homes(self) -> list[Home]:
        return [*self.scenario.nodes.values(), *(claim.home for claim in self.claims)]

    def residents(self) -> Iterator[tuple[Pod, Home]]:
        """Return all pods that have a place, bound ones first; those that are leaving are left out."""
        for pod in self.scenario.pods.values():
            if pod.node in self.scenario.nodes and not pod.leaving:
                yield pod, self.scenario.nodes[pod.node]
        for name, home in self.placed.items():
            yield self.scenario.pending[name], home
