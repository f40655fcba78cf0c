from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.builders import at, bound_pod, claim, claim_of, node_class, node_of, node_pool, resources, view
from tests.domain.models import model, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.disruption.resumed_moves import ResumedMoves, resume_moves
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claim_prices import write_price
from treenail.domain.model.claims import DECISION, PROMISED, REPLACES
from treenail.domain.model.consolidated_claims import Origin, Shape, write_origins
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation, NodePool
from treenail.domain.model.nodes import DRIFTED, Condition, NodeClaim, NodeView, Status
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.model.template_hash import stamped

NOW: Final = 1000.0
HAS_DRIFTED: Final = Condition(DRIFTED, Status.TRUE, "NodePoolDrifted")
OLD_SHAPE: Final = Shape("default", "m5.xlarge", "a", "on-demand")


def pool(
    *,
    allowed: int = 9,
    policy: ConsolidationPolicy = ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED,
    expire_after: timedelta | None = None,
) -> NodePool:
    disruption = Disruption(
        policy=policy,
        consolidate_after=timedelta(seconds=1),
        expire_after=expire_after,
        budgets=(Budget(nodes=allowed),),
    )
    return replace(node_pool(version=2), disruption=disruption)


def old(*, drifted: bool = True, marked: bool = True, said: Mapping[str, str] | None = None) -> NodeView:
    """A node in use, of four cores, that costs 0.2 $/h."""
    there = view()
    conditions = claim_of(there).conditions
    own = {"conditions": (*conditions, HAS_DRIFTED) if drifted else conditions}
    annotations = {**write_price(0.2), **(said or {})}
    taints = (DISRUPTED,) if marked else ()
    return view(of_claim={**own, "annotations": annotations}, of_node={"taints": taints})


def replacement(*pods: str, saves: float = 0.0, price: float = 0.0, **fields: Any) -> NodeClaim:
    """A claim in flight for pods of node-c1, of decision d2."""
    origins = (Origin(saving=saves, at=at(10), replaced=(OLD_SHAPE,)),) if saves else ()
    said = {PROMISED: ",".join(pods), REPLACES: "node-c1", DECISION: "d2"}
    annotations = {**said, **write_origins(origins), **write_price(price)}
    room = resources(cpu=4, pods=10)
    made = claim("c2", annotations=annotations, provider_id="aws:///a/i-c2", room=room)
    return replace(stamped(made, pool(), node_class()), **{"created_at": at(10), **fields})


def moving(uid: str = "p1") -> Pod:
    return replace(bound_pod(uid, "node-c1"), started_at=at(1))


def restarted(there: NodeView, *things: ClusterObject, of: NodePool | None = None) -> ClusterModel:
    known = model(of or pool(), claim_of(there), node_of(there), *things)
    known.take_changes()
    return known


def resumed(known: ClusterModel, *, consolidates: bool = True) -> ResumedMoves:
    return resume_moves(known, at(NOW), consolidates=consolidates)


def orders(known: ClusterModel, *, consolidates: bool = True) -> list[tuple[Cause, list[str]]]:
    """Return which nodes go, by cause, where all are marked that do, and no others."""
    made = resumed(known, consolidates=consolidates).orders
    assert sorted(known.marks.for_disruption) == sorted(view.name for one in made for view in one.nodes)
    assert all(one.replaced_first for one in made)
    return [(one.cause, [view.name for view in one.nodes]) for one in made]


DRIFTS: Final = [(Cause.DRIFTED, ["c1"])]
CONSOLIDATES: Final = [(Cause.UNDERUTILIZED, ["c1"])]


@pytest.mark.parametrize("marked", [True, False])
def test_a_drifted_node_whose_replacement_is_on_its_way_goes_on_being_replaced(*, marked: bool) -> None:
    known = restarted(old(marked=marked), replacement("p1"), moving())

    assert orders(known) == DRIFTS


def test_an_expired_node_of_the_old_api_does_so_too() -> None:
    there = old(drifted=False)
    there = replace(there, claim=replace(claim_of(there), generation=Generation.V1ALPHA5))
    known = restarted(there, replacement("p1"), moving(), of=pool(expire_after=timedelta(seconds=60)))

    assert orders(known) == [(Cause.EXPIRED, ["c1"])]


def test_without_a_replacement_nothing_is_resumed() -> None:
    assert orders(restarted(old(), moving())) == []


def test_nor_where_nothing_shows_why_the_node_was_to_go() -> None:
    assert orders(restarted(old(drifted=False), replacement("p1"), moving())) == []


def test_nor_where_the_replacement_is_not_what_its_pool_asks_for_any_more() -> None:
    other = replace(pool(), annotations={"generation": "three"})

    assert orders(restarted(old(), replacement("p1"), moving(), of=other)) == []


def test_nor_where_the_budget_allows_no_disruption_any_more() -> None:
    assert orders(restarted(old(), replacement("p1"), moving(), of=pool(allowed=0))) == []


def test_nor_beyond_the_budget_where_no_mark_says_that_the_node_was_to_go() -> None:
    there = old(marked=False)
    other = view("c3", of_node={"taints": (DISRUPTED,)})
    known = restarted(there, replacement("p1"), moving(), of=pool(allowed=1))
    assert orders(known) == DRIFTS

    known = restarted(there, claim_of(other), node_of(other), replacement("p1"), moving(), of=pool(allowed=1))
    assert orders(known) == []


def test_nor_where_somebody_wants_the_node_to_stay() -> None:
    kept = {labels.DO_NOT_DISRUPT: "true"}
    there = old()
    there = replace(there, node=replace(node_of(there), annotations=kept))

    assert orders(restarted(there, replacement("p1"), moving())) == []


def test_nor_for_a_later_node_of_the_same_name() -> None:
    made_before = replacement("p1", created_at=at(-10))

    assert orders(restarted(old(), made_before, moving())) == []


def in_use(made: NodeClaim) -> tuple[ClusterObject, ...]:
    """Let the node of a claim be in use, with a pod on it."""
    there = view(made.name, of_claim={"annotations": made.annotations, "created_at": made.created_at})
    return claim_of(there), node_of(there), bound_pod("p9", f"node-{made.name}")


def test_a_replacement_that_pods_have_come_to_is_a_move_that_is_over() -> None:
    assert orders(restarted(old(marked=False), *in_use(replacement("p1")), moving())) == []


def test_but_not_where_the_mark_says_that_the_node_has_still_to_go() -> None:
    assert orders(restarted(old(), *in_use(replacement("p1")), moving())) == DRIFTS


def test_a_consolidation_whose_replacement_is_as_cheap_as_planned_goes_on_and_is_followed() -> None:
    known = restarted(old(drifted=False), replacement("p1", saves=0.1, price=0.1), moving())

    made = resumed(known)

    assert [(one.cause, one.bought, dict(one.policies)) for one in made.orders] == [
        (Cause.UNDERUTILIZED, 1, {"default": "when_empty_or_underutilized"})
    ]
    (move,) = made.consolidations
    assert (move.decision.id, move.nodes, move.claims) == ("d2", ("c1",), (("c2", 0.1),))
    assert move.saves == pytest.approx(0.1)


def test_what_was_planned_for_one_without_a_price_follows_from_what_it_was_to_save() -> None:
    (move,) = resumed(restarted(old(drifted=False), replacement("p1", saves=0.15), moving())).consolidations

    assert dict(move.claims) == {"c2": pytest.approx(0.05)}


@pytest.mark.parametrize(
    "made",
    [
        replacement("p1", saves=0.1, price=0.18),
        replacement("p2", saves=0.1, price=0.1),
        replace(replacement("p1"), annotations={**replacement("p1").annotations, labels.CONSOLIDATED: "?"}),
    ],
    ids=["dearer than it may be", "not for all pods of the node", "does not say what it saves"],
)
def test_a_consolidation_is_taken_back_where_its_replacement_is(made: NodeClaim) -> None:
    assert orders(restarted(old(drifted=False), made, moving())) == []


def test_or_where_the_pool_or_the_settings_want_none_any_more() -> None:
    made = replacement("p1", saves=0.1, price=0.1)
    empty_only = pool(policy=ConsolidationPolicy.WHEN_EMPTY)

    assert orders(restarted(old(drifted=False), made, moving(), of=empty_only)) == []
    assert orders(restarted(old(drifted=False), made, moving()), consolidates=False) == []
    assert orders(restarted(old(drifted=False), made, moving())) == CONSOLIDATES


def test_or_where_another_of_its_nodes_is_to_stay() -> None:
    made = replacement("p1", saves=0.1, price=0.1)
    made = replace(made, annotations={**made.annotations, REPLACES: "node-c1,node-c3"})
    other = view("c3", of_node={"annotations": {labels.DO_NOT_DISRUPT: "true"}})
    known = restarted(old(drifted=False), made, moving())
    see(known, claim_of(other), node_of(other))

    assert orders(known) == []
