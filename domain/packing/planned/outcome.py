"""The outcome of packing: decisions as counts while a plan is made, and the plan written from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from treenail.domain.model.pods import Pod
from treenail.domain.packing.parsed_problem import ParsedProblem
from treenail.domain.packing.plan import ClassReport, PackingPlan, PlannedClaim, RefusedClass
from treenail.domain.packing.planned.finishing import Finishing
from treenail.domain.packing.planned.planned_nodes import Bound, PlannedNode, added
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.refusal_reasons import Refusal


class Outcome:
    """The places of the pods of each part of the parsed problem (by number), and how many are `left`.

    Pods are counted, not named, until the plan is written: the work grows with classes. For some of those
    left a node may be being planned.
    """

    def __init__(self, parsed: ParsedProblem, existing_nodes: Sequence[str]) -> None:
        self.parsed = parsed
        self.existing_nodes = existing_nodes
        # Counts by number of the part, all of which exist from the start: a part that is refused at once
        # stays at its full count.
        self.left = {index: len(pods) for index, (_, pods) in enumerate(parsed.parts)}
        self.deferred: set[int] = set()
        self.nodes: list[tuple[PlannedClaim, Mapping[int, int]]] = []
        self.bound = Bound()
        self.in_existing_nodes: dict[int, dict[int, int]] = {index: {} for index in self.left}
        # How many preferences the pods of each part have given up together that have a place, or one planned.
        self.given_up = dict.fromkeys(self.left, 0)
        self._planned = dict.fromkeys(self.left, 0)
        self._why: dict[int, tuple[Refusal, ...]] = {}
        # The parts with pods to place, None for all of them.
        self._wanted: tuple[int, ...] | None = None

    def begin(self, wanted: Mapping[int, int]) -> None:
        """Begin anew, with so many pods of some parts (by number) to place, and none of the others."""
        for index in self.left if self._wanted is None else self._wanted:
            self.left[index] = self._planned[index] = self.given_up[index] = 0
            self.in_existing_nodes[index] = {}
        self.left.update(wanted)
        self._wanted = tuple(wanted)
        self.nodes, self.bound = [], Bound()
        self.deferred.clear()

    def waiting(self, index: int) -> int:
        """Return how many pods of the part `index` have no place yet, and none planned."""
        return self.left[index] - self._planned[index]

    def plan(self, index: int, pods: int, given_up: int) -> None:
        """Note that nodes are being planned for so many more pods of a part; fewer where negative.

        Each of them has given up `given_up` preferences.
        """
        self._planned[index] += pods
        self.given_up[index] += pods * given_up

    def nominate(self, index: int, to_existing_nodes: Mapping[int, int], given_up: int) -> None:
        """Note how many pods of a part go to which existing nodes (by row); fewer where negative.

        Each of them has given up `given_up` preferences.
        """
        # Existing nodes are certain: these are no longer left, as those are for whom a node is only planned.
        pods = sum(to_existing_nodes.values())
        self.in_existing_nodes[index] = added(self.in_existing_nodes[index], to_existing_nodes)
        self.left[index] -= pods
        self.given_up[index] += pods * given_up

    def buy(
        self,
        planned_nodes: Sequence[PlannedNode],
        pod_groups: Mapping[int, PodGroup],
        bound: Bound,
        finishing: Finishing,
    ) -> None:
        """Note nodes to buy for `pod_groups` (by index), and the bound of what they cost."""
        self.bound = self.bound.plus(bound)
        for planned_node in planned_nodes:
            # Copies become claims one by one: each has its own pods, and limits may end between two of them.
            for _ in range(planned_node.copies):
                parts: dict[int, int] = {}
                # Where the steps ended between planning and placing anew, a pod group may have been emptied
                # since. Sorted by index, so that equal plans name their pods alike.
                for index, units in sorted(
                    [each for each in planned_node.parts.items() if each[0] in pod_groups]
                ):
                    for part, pods in pod_groups[index].take(units):
                        parts[part] = parts.get(part, 0) + pods
                        self._planned[part] -= pods
                # None where limits leave too few types: the pods keep being left, and are refused.
                claim = finishing.claim(planned_node, parts) if parts else None
                if claim is not None:
                    self.nodes.append((claim, parts))
                    for part, pods in parts.items():
                        self.left[part] -= pods

    def refuse(self, index: int, why: tuple[Refusal, ...]) -> None:
        """Note why those left of the part `index` could not be placed."""
        self._why[index] = why

    def why(self, index: int) -> tuple[Refusal, ...]:
        """Return why those left of the part `index` were refused; nothing where none was."""
        # A class may be refused in part: the reasons are only told of those left.
        if not self.left[index]:
            return ()
        # Set aside or never packed: that reason holds everywhere, and comes before those of pools.
        refusal = self.parsed.refused.get(index)
        return self._why.get(index, ()) if refusal is None else (refusal,)


class _PlanWriter:
    """Names the pods of each part: the oldest go to existing nodes, then to claims; the youngest are left.

    An iterator per part deals each pod once: no pod can be named twice.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._pods: list[Iterator[Pod]] = [iter(pods) for _, pods in outcome.parsed.parts]
        self._to_claims: list[dict[int, int]] = [{} for _ in self._pods]
        self.nominations: dict[str, str] = {}
        self.claims: list[PlannedClaim] = []

    def name_existing_nodes(self) -> None:
        for index, existing_nodes in self._outcome.in_existing_nodes.items():
            for existing_node, count in existing_nodes.items():
                for uid in self._take(index, count):
                    self.nominations[uid] = self._outcome.existing_nodes[existing_node]

    def name_claims(self) -> None:
        for claim, parts in self._outcome.nodes:
            pods: list[str] = []
            # Sorted, for the order in which groups came onto a node says nothing.
            for index, count in sorted(parts.items()):
                pods += self._take(index, count)
                self._to_claims[index][len(self.claims)] = count
            self.claims.append(replace(claim, pods=tuple(pods)))

    def report(self, index: int) -> ClassReport:
        _, pods = self._outcome.parsed.parts[index]
        outcome = self._outcome
        refusals = outcome.why(index)
        existing_nodes = outcome.in_existing_nodes[index]
        return ClassReport(
            example=pods[0].key,
            pods=len(pods),
            to_existing_nodes={
                outcome.existing_nodes[row]: count for row, count in existing_nodes.items() if count
            },
            to_claims=self._to_claims[index],
            refused=outcome.left[index] if refusals else 0,
            refusals=refusals,
        )

    def _take(self, index: int, count: int) -> list[str]:
        # In the order of age: the oldest pods of a class get the first places, whatever the placing order
        # was.
        return [pod.uid for pod in islice(self._pods[index], count)]

    def rest(self, index: int) -> tuple[str, ...]:
        """Return the pods that have no place, once all others are named."""
        return tuple(self._take(index, self._outcome.left[index]))


def plan_of(outcome: Outcome, problems: Iterable[str] = ()) -> PackingPlan:
    """Write the plan. `problems` are errors that cost no pod its place."""
    parsed = outcome.parsed
    parts = range(len(parsed.parts))
    writer = _PlanWriter(outcome)
    # The order of these two decides who goes where: the oldest pods have a node that is there already.
    writer.name_existing_nodes()
    writer.name_claims()
    # After all others are named, what the iterators still hold is left.
    rest = [(writer.rest(index), outcome.why(index)) for index in parts if outcome.left[index]]
    # Left without a reason: the steps ended before these were tried. They are no refusals, and are tried
    # again.
    deferred = tuple(uid for pods, why in rest if not why for uid in pods)
    return PackingPlan(
        claims=tuple(writer.claims),
        nominations=writer.nominations,
        refused=tuple(RefusedClass(pods=pods, refusals=why) for pods, why in rest if why),
        classes=tuple(writer.report(index) for index in parts),
        deferred=deferred,
        cost=sum(claim.price for claim in writer.claims),
        lower_bound=outcome.bound.price,
        whole_cost=sum(claim.price + claim.surcharge for claim in writer.claims),
        whole_lower_bound=outcome.bound.cost,
        exhausted=bool(deferred),
        problems=tuple(dict.fromkeys(problems)),
    )
