"""A consolidator, beside a cluster state that answers what a test says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import decision, planned_claim
from tests.probes import Probe
from treenail.actors.consolidator import Consolidator
from treenail.domain.cluster.consolidating import (
    ConsolidationPlanned,
    ConsolidationPostponed,
    ConsolidationWanted,
    NodesGoLater,
)
from treenail.domain.cluster.planning import Consolidation, Snapshot
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.disruption.disruption import DisruptionProposed, DisruptionRefused
from treenail.domain.model.blockers import Block
from treenail.domain.model.events import ObjectRef
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move, StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms

FIRST = Move(removed=("c1", "c2"), nominations={"p1": "c9"}, saves=0.5)
SECOND = Move(removed=("c3",), claims=(planned_claim("p3"),), saves=0.2)
ABOUT = {name: (ObjectRef("NodeClaim", name, uid=f"uid-{name}"),) for name in ("c1", "c2", "c3", "c4")}


def looked_at(state: object = "s1", *staying: StayingNode) -> Consolidation:
    """Return what a pass looks at: three nodes of one pool may go."""
    return Consolidation(
        candidates=tuple(CandidateNode(name=name, pool="default", pods=()) for name in ("c1", "c2", "c3")),
        terms={"default": PoolTerms()},
        staying=staying,
        events={one.name: "DisruptionBlocked" for one in staying},
        about=ABOUT,
        state=state,
    )


class Consolidating(Stage):
    """A consolidator, and a cluster state that answers what the test says."""

    def __init__(self, *, acting: bool = True) -> None:
        super().__init__()
        self.cluster, self.soft_tainter, self.api = Probe(), Probe(), Api(self.world)
        self.times: list[float] = []
        self.terms: dict[str, PoolTerms] = {}
        rules = ConsolidationRules(acting=acting)
        self.actor: Any = self.host(
            lambda runtime: Consolidator(
                runtime, cluster=self, soft_tainter=self.soft_tainter, writer=self.api, rules=rules
            )
        )

    def tell(self, message: object) -> None:
        """Take what the consolidator tells the cluster state."""
        self.cluster.tell(message)
        if isinstance(message, ConsolidationWanted):
            self.times.append(self.seconds)

    def asked(self, within: float = 1_000) -> ConsolidationWanted:
        """Let time pass until it asks for a pass; return what it asks."""
        before, until = len(self.times), self.seconds + within
        while len(self.times) == before:
            assert self.seconds < until, "nothing is asked for"
            self.run(0.5)
        return self.cluster.of(ConsolidationWanted)[-1]

    def postpone(self, consolidation: Consolidation | None = None) -> None:
        self.actor.tell(ConsolidationPostponed(busy=consolidation is None, consolidation=consolidation))
        self.run(0)

    def answer(
        self,
        *moves: Move,
        state: object = "s1",
        staying: tuple[StayingNode, ...] = (),
        later: tuple[str, ...] = (),
        cut_short: bool = False,
    ) -> None:
        self._answer(ConsolidationPlan(moves=moves, staying=staying, later=later, cut_short=cut_short), state)

    def give_up(self) -> None:
        self._answer(None, "s1")

    def _answer(self, plan: ConsolidationPlan | None, state: object) -> None:
        looked = looked_at(state)
        snapshot = Snapshot(
            revision=1,
            taken_at=self.now(),
            pods=(),
            existing_nodes=(),
            pools=(),
            node_classes={},
            daemons=(),
            limits_left={},
        )
        self.actor.tell(
            ConsolidationPlanned(
                decision=decision(f"pass{len(self.times)}"),
                snapshot=snapshot,
                consolidation=replace(looked, terms=self.terms or looked.terms),
                plan=plan,
                considered=("default",),
                selected_at=self.now(),
                packed_at=self.now() + timedelta(seconds=2),
            )
        )
        self.run(0)

    def refuse(self, move: Move, why: str = "no budget is left") -> None:
        self.actor.tell(
            DisruptionRefused(pool="", candidates=move.removed, why=Block.LEFT_ALONE.by(detail=why))
        )
        self.run(0)

    def waited(self) -> float:
        """Return how long it takes until it asks again, in seconds."""
        before = self.seconds
        self.asked()
        return self.times[-1] - before

    def used_last(self) -> list[tuple[str, ...]]:
        """Return the nodes that go later, as they were named each time."""
        return [one.names for one in self.soft_tainter.of(NodesGoLater)]

    def proposed(self) -> list[tuple[str, ...]]:
        return [one.candidates for one in self.cluster.of(DisruptionProposed)]

    def events(self, reason: str) -> list[tuple[str, str]]:
        """Return which nodes people were told of with this reason, and what."""
        self.run(5)
        return [
            (one.event.about.name, one.event.message)
            for one in self.api.events()
            if one.event.reason == reason
        ]
