from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import START, at, claim, node_class, node_pool
from tests.probes import Probe
from treenail.actors.disruptor import Disruptor
from treenail.domain.disruption.disruption import (
    CandidateChanged,
    DisruptionProposed,
    DisruptionRefused,
    NodeEmptied,
    PoolChanged,
)
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import Disruption
from treenail.domain.model.nodes import (
    CONSOLIDATABLE,
    DRIFTED,
    INITIALIZED,
    REGISTERED,
    Condition,
    NodeClaim,
    Status,
    condition_of,
)
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.template_hash import stamped


class Noting(Probe):
    """One who remembers when it was told what."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self.times: list[datetime] = []

    def tell(self, message: object, /) -> None:
        super().tell(message)
        self.times.append(self._now())


class Emptying(Stage):
    """The disruptor of one pool."""

    def __init__(self, *, after: float | None = 30) -> None:
        super().__init__()
        self.cluster = Noting(self.now)
        self.api = Api(self.world)
        self.actor: Any = self.host(
            lambda runtime: Disruptor(runtime, pool="default", cluster=self.cluster, writer=self.api)
        )
        self.allow(after)

    def allow(self, after: float | None, *, node_class: NodeClass | None = None) -> None:
        """Let nodes stand empty for so many seconds; None is for ever."""
        consolidate_after = None if after is None else timedelta(seconds=after)
        pool = replace(node_pool(), disruption=Disruption(consolidate_after=consolidate_after))
        self.actor.tell(PoolChanged(name="default", pool=pool, node_class=node_class))

    def empty(self, *names: str) -> None:
        for name in names:
            self.actor.tell(NodeEmptied(name=name, since=self.now()))

    def used(self, name: str) -> None:
        self.actor.tell(NodeEmptied(name=name, since=None))

    def refuse(self, *names: str) -> None:
        self.actor.tell(DisruptionRefused(pool="default", candidates=names, why=Block.BUDGET.by("default")))

    def proposed(self) -> list[tuple[float, tuple[str, ...]]]:
        """Return when which nodes were proposed."""
        return [
            ((when - START).total_seconds(), m.candidates)
            for when, m in zip(self.cluster.times, self.cluster.received, strict=True)
            if isinstance(m, DisruptionProposed)
        ]


def test_a_node_is_proposed_when_it_has_stood_empty_for_the_pools_time() -> None:
    stage = Emptying()

    stage.empty("c1")
    stage.run(29.9)
    assert stage.cluster.received == []
    stage.run(0.1)

    assert stage.proposed() == [(30, ("c1",))]
    assert stage.cluster.received == [
        DisruptionProposed(pool="default", candidates=("c1",), cause=Cause.EMPTY)
    ]


def test_nodes_that_are_due_together_are_proposed_together_longest_empty_first() -> None:
    stage = Emptying(after=None)
    stage.empty("c2")
    stage.run(5)
    stage.empty("c1", "c3")
    stage.run(60)

    stage.allow(30)
    stage.run(0)

    assert stage.proposed() == [(65, ("c2", "c1", "c3"))]


def test_a_node_in_use_again_is_not_proposed() -> None:
    stage = Emptying()
    stage.empty("c1")
    stage.run(20)

    stage.used("c1")
    stage.run(100)

    assert stage.proposed() == []


def test_a_node_that_empties_again_has_its_time_again() -> None:
    stage = Emptying()
    stage.empty("c1")
    stage.run(20)
    stage.used("c1")

    stage.empty("c1")
    stage.run(100)

    assert stage.proposed()[0] == (50, ("c1",))


def test_a_node_that_was_refused_is_proposed_again_ten_seconds_later() -> None:
    stage = Emptying()
    stage.empty("c1")
    stage.run(31)

    stage.refuse("c1", "stranger")
    stage.run(10)

    assert [when for when, _ in stage.proposed()] == [30, 41]


def test_a_proposal_that_is_lost_is_made_again_after_a_minute() -> None:
    stage = Emptying()
    stage.empty("c1")

    stage.run(151)

    assert [when for when, _ in stage.proposed()] == [30, 90, 150]


def test_a_pool_may_get_more_or_less_patient() -> None:
    stage = Emptying(after=30)
    stage.empty("c1")
    stage.run(20)

    stage.allow(60)
    stage.run(20)
    assert stage.proposed() == []
    stage.allow(45)
    stage.run(5)

    assert stage.proposed() == [(45, ("c1",))]


def test_a_pool_that_gives_nothing_back_proposes_nothing() -> None:
    stage = Emptying(after=None)
    stage.empty("c1")
    stage.run(1000)

    assert stage.proposed() == []
    assert stage.logged("added TTL to empty node") == []


def test_a_pool_that_is_gone_proposes_nothing() -> None:
    stage = Emptying()
    stage.empty("c1")

    stage.actor.tell(PoolChanged(name="default", pool=None))
    stage.run(1000)

    assert stage.proposed() == []


def test_an_empty_node_goes_at_once_where_the_pool_says_so() -> None:
    stage = Emptying(after=0)

    stage.empty("c1")
    stage.run(0)

    assert stage.proposed() == [(0, ("c1",))]


def test_people_are_told() -> None:
    stage = Emptying()

    stage.empty("c1")
    stage.run(30)

    assert stage.logged("added TTL to empty node") == [
        {"logger": "controller.node", "nodeclaim": "c1", "ttl_seconds": 30}
    ]
    assert stage.logged("deprovisioning via emptiness") == [
        {"logger": "controller.deprovisioning", "nodeclaims": ["c1"]}
    ]


def test_people_are_told_once_of_a_node_that_is_refused_again_and_again() -> None:
    stage = Emptying()
    stage.empty("c1")

    for _ in range(5):
        stage.run(31)
        stage.refuse("c1")

    assert len(stage.proposed()) > 3
    assert len(stage.logged("deprovisioning via emptiness")) == 1


def expiring(name: str, *, seconds: float) -> NodeClaim:
    return replace(claim(name), expire_after=timedelta(seconds=seconds))


def test_a_node_that_has_lived_its_time_is_proposed() -> None:
    stage = Emptying()
    stage.actor.tell(CandidateChanged(name="c1", claim=expiring("c1", seconds=100)))
    stage.actor.tell(CandidateChanged(name="c2", claim=expiring("c2", seconds=50)))

    stage.run(100)

    causes = [(m.candidates, m.cause, m.forceful) for m in stage.cluster.of(DisruptionProposed)]
    assert causes == [(("c2",), Cause.EXPIRED, True), (("c1",), Cause.EXPIRED, True)]
    assert [when for when, _ in stage.proposed()] == [50, 100]
    assert len(stage.logged("deprovisioning via expiration")) == 2


def test_a_node_that_drifts_is_proposed_at_once_and_says_so() -> None:
    stage = Emptying()
    stage.api.apply(stamped(claim("c1"), node_pool(), node_class()))
    (there,) = stage.api.objects(NodeClaim)
    stage.actor.tell(CandidateChanged(name="c1", claim=there))
    stage.run(1)
    assert stage.proposed() == []

    changed = replace(node_pool(), labels={"team": "a"})
    stage.actor.tell(PoolChanged(name="default", pool=changed, node_class=node_class()))
    stage.run(1)

    (proposal,) = stage.cluster.of(DisruptionProposed)
    assert (proposal.candidates, proposal.cause, proposal.forceful) == (("c1",), Cause.DRIFTED, False)
    (claim_now,) = stage.api.objects(NodeClaim)
    shown = condition_of(claim_now.conditions, DRIFTED)
    assert shown is not None
    assert (shown.status, shown.reason) == (Status.TRUE, "NodePoolDrifted")
    assert stage.logged("detected drift") == [
        {"logger": "controller.disruption", "nodeclaim": "c1", "reason": "NodePoolDrifted"}
    ]


def test_a_claim_says_that_its_node_is_consolidatable_as_long_as_pods_leave_it_alone() -> None:
    stage = Emptying(after=30)
    true = tuple(Condition(type=kind, status=Status.TRUE, since=START) for kind in (REGISTERED, INITIALIZED))
    stage.api.apply(replace(stamped(claim("c1"), node_pool(), node_class()), conditions=true))
    stage.allow(30, node_class=node_class())

    def consolidatable() -> Condition | None:
        (there,) = stage.api.objects(NodeClaim)
        stage.actor.tell(CandidateChanged(name="c1", claim=there))
        stage.run(0.1)
        return condition_of(there.conditions, CONSOLIDATABLE)

    assert consolidatable() is None
    stage.run(29.5)
    assert consolidatable() is None
    stage.run(0.5)
    shown = consolidatable()
    assert shown is not None
    assert (shown.status, shown.reason) == (Status.TRUE, CONSOLIDATABLE)

    stage.api.patch_claim("c1", ClaimPatch(last_pod_event_at=at(40)))
    consolidatable()
    assert consolidatable() is None
    stage.run(40)
    assert consolidatable() is not None

    stage.allow(None, node_class=node_class())
    stage.run(1)
    assert consolidatable() is None


def test_a_drift_that_is_taken_back_is_not_proposed_again() -> None:
    stage = Emptying()
    stage.actor.tell(CandidateChanged(name="c1", claim=stamped(claim("c1"), node_pool(), node_class())))
    drifting = replace(node_pool(), labels={"team": "a"})
    stage.actor.tell(PoolChanged(name="default", pool=drifting, node_class=node_class()))
    stage.run(1)

    stage.refuse("c1")
    stage.actor.tell(PoolChanged(name="default", pool=node_pool(), node_class=node_class()))
    stage.run(1000)

    assert len(stage.proposed()) == 1


def test_what_a_claim_is_to_say_while_another_answer_is_awaited_is_written_after_it() -> None:
    stage = Emptying(after=30)
    true = tuple(Condition(type=kind, status=Status.TRUE, since=START) for kind in (REGISTERED, INITIALIZED))
    stage.api.apply(replace(stamped(claim("c1"), node_pool(), node_class()), conditions=true))
    stage.allow(30, node_class=node_class())
    stage.run(40)
    (there,) = stage.api.objects(NodeClaim)
    stage.actor.tell(CandidateChanged(name="c1", claim=there))
    shown = (*there.conditions, Condition(type=CONSOLIDATABLE, status=Status.TRUE))
    news = replace(there, conditions=shown, last_pod_event_at=at(39))
    stage.actor.tell(CandidateChanged(name="c1", claim=news))
    stage.run(10)

    (there,) = stage.api.objects(NodeClaim)
    assert condition_of(there.conditions, CONSOLIDATABLE) is None
