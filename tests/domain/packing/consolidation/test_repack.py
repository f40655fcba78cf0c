"""Repack finds the moves that make a cluster cheaper, and says why other nodes stay."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, node
from tests.domain.packing.problems import (
    ZONES,
    asking,
    catalogue,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
)
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.model.pods import (
    LabelSelector,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.consolidation.consolidation_plan import Action, ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.problem import PoolOffer

ON_DEMAND = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)))


def removed(plan: ConsolidationPlan) -> list[str]:
    return [name for move in plan.moves for name in move.removed]


def why(plan: ConsolidationPlan, name: str) -> str:
    return next(one.why.sentence for one in plan.staying if one.name == name)


def test_a_node_whose_pods_fit_on_another_goes_and_its_pods_go_there() -> None:
    full = node("full", "m5.2xlarge", *pods("a", 5))
    thin = node("thin", "m5.2xlarge", *pods("b", 2))
    (move,) = repack(Cluster(nodes=(full, thin), offers=()).problem()).moves
    assert move.removed == ("thin",)
    assert move.nominations == {"b-0": "full", "b-1": "full"}
    assert move.action is Action.DELETE
    assert move.saves == pytest.approx(thin.price + 0.02)
    assert move.disruption == 3.0


def test_a_node_that_would_be_bought_again_beside_another_stays() -> None:
    # Both together would become one like the full node, and a smaller one: only the large one is given up.
    nodes = (node("large", "m5.4xlarge", *pods("a", 3)), node("full", "m6g.2xlarge", *pods("b", 7)))

    plan = repack(Cluster(nodes=nodes, offers=(ON_DEMAND,)).problem())

    assert removed(plan) == ["large"]
    assert [claim.instance_types[0] for claim in plan.moves[0].claims] == ["m6g.xlarge"]


def test_a_node_that_takes_pods_of_another_stays_itself() -> None:
    # A third node would have room for all of them: but then some pods would move twice.
    nodes = [node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", i + 1)) for i in range(3)]
    plan = repack(Cluster(nodes=tuple(nodes), offers=(ON_DEMAND,)).problem())
    moved = [uid for move in plan.moves for uid in move.nominations]
    assert len(moved) == len(set(moved))
    assert not set(removed(plan)) & {target for move in plan.moves for target in move.nominations.values()}


def test_a_pod_that_fits_nowhere_else_keeps_its_node_and_is_named() -> None:
    here = asking(1, selector={labels.HOSTNAME: "n0"})
    nodes = (node("n0", "m5.large", *pods("tied", 1, here)), node("n1", "m5.large", *pods("b", 1)))
    plan = repack(Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"n1"})).problem())
    assert plan.moves == ()
    assert "default/tied-0" in why(plan, "n0")


def test_a_large_node_with_a_small_pod_is_replaced_by_a_small_one() -> None:
    plan = repack(Cluster(nodes=(node("big", "m5.8xlarge", *pods("a", 1)),), offers=(ON_DEMAND,)).problem())
    (move,) = plan.moves
    (claim,) = move.claims
    assert move.action is Action.REPLACE
    assert claim.pods == ("a-0",)
    assert claim.price < 0.1
    assert plan.cost_after == pytest.approx(claim.price + claim.surcharge)


def test_what_is_listed_for_a_replacement_is_cheaper_whatever_is_launched() -> None:
    big = node("big", "m5.xlarge", *pods("a", 1))
    (move,) = repack(Cluster(nodes=(big,), offers=(ON_DEMAND,)).problem()).moves
    by_name = {one.name: one for one in catalogue()}
    dearest = [
        max(o.price for o in by_name[name].offerings if o.capacity_type == labels.ON_DEMAND)
        for name in move.claims[0].instance_types
    ]
    assert max(dearest) < big.price


def test_one_large_node_becomes_several_small_ones_where_these_cost_less() -> None:
    # The only large type is dear, as an old generation is; each pod needs a small node of its own.
    dear = replace(
        next(one for one in catalogue() if one.name == "m5.2xlarge"),
        offerings=tuple(
            replace(o, price=3 * o.price)
            for one in catalogue()
            if one.name == "m5.2xlarge"
            for o in one.offerings
        ),
    )
    small = next(one for one in catalogue() if one.name == "m5.xlarge")
    offers = (offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), (small,)),)
    old = replace(node("old", "m5.2xlarge", *pods("a", 2, asking(3))), type=dear)
    (move,) = repack(Cluster(nodes=(old,), offers=offers).problem()).moves
    assert len(move.claims) == 2
    assert move.removed == ("old",)


def test_several_nodes_become_one_where_only_together_they_can_cost_less() -> None:
    small = instance_type("m5.large", cpu=2, memory=8, price=0.1)
    large = instance_type("m5.xlarge", cpu=4, memory=16, price=0.15)
    offers = (offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), (small, large)),)
    # No pod fits beside another on a small node, and no node costs less than a small one.
    some = [node(f"n{i}", "m5.large", *pods(f"p{i}", 1, asking("1500m"))) for i in range(2)]
    nodes = tuple(replace(one, type=small) for one in some)
    (move,) = repack(Cluster(nodes=nodes, offers=offers).problem()).moves
    assert move.removed == ("n0", "n1")
    assert move.consolidation_type == "multi"
    assert move.saves == pytest.approx(2 * 0.12 - 0.17)


def test_a_dear_node_is_replaced_before_pods_of_cheaper_ones_fill_it() -> None:
    # A guest left the dear node: all pods of the other would fit there, and many would move to save little.
    dear = node("dear", "m5.4xlarge", *pods("a", 1), *pods("b", 2))
    full = node("full", "m5.2xlarge", *pods("c", 7))
    same = tuple(one for one in catalogue() if one.name in ("m5.xlarge", "m5.2xlarge"))
    offers = (offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), same),)

    plan = repack(Cluster(nodes=(dear, full), offers=offers).problem())

    assert removed(plan) == ["dear"]
    assert [claim.instance_types[0] for claim in plan.moves[0].claims] == ["m5.xlarge"]


def test_several_nodes_go_together_only_if_each_adds_more_than_moving_its_pods_costs() -> None:
    dear = instance_type("m5.2xlarge", cpu=8, memory=32, price=0.5)
    fair, cheap = (instance_type(f"m5.{of}", cpu=4, memory=16, price=0.2) for of in ("xlarge", "large"))
    cheap = replace(cheap, offerings=tuple(replace(o, price=0.199) for o in cheap.offerings))
    standing = (
        replace(node("dear", "m5.2xlarge", *pods("a", 3)), type=dear),
        *(replace(node(f"fair-{n}", "m5.xlarge", *pods(f"f{n}", 3)), type=fair) for n in range(4)),
    )
    offers = (offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), (cheap,)),)

    plan = repack(Cluster(nodes=standing, offers=offers).problem(terms=PoolTerms(payback=timedelta(hours=4))))

    assert removed(plan) == ["dear"]


@pytest.mark.parametrize(("price", "goes"), [(0.7, False), (1.0, True)])
def test_a_node_whose_pods_a_scheduler_may_leave_without_a_place_goes_if_a_node_more_is_worth_it(
    price: float,
    goes: bool,  # noqa: FBT001
) -> None:
    assert _crowded_goes(price, _two_types()) == goes


def _two_types() -> PoolOffer:
    types = tuple(one for one in catalogue() if one.name in ("m5.xlarge", "m5.2xlarge"))
    return offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), types)


def _crowded_goes(
    price: float, *offers: PoolOffer, small: tuple[int, str] = (4, "1"), daemons: tuple[PodSpec, ...] = ()
) -> bool:
    """Return whether a node of that price goes, or stays as its pods may be left without a place.

    `small` is how many small pods there are, and what CPU each asks for.
    """
    # Two large pods on one new node leave no place for the last of the small ones. They are planned apart.
    large, others = pods("large", 2, asking("3600m", "1Gi")), pods("small", small[0], asking(small[1], "1Gi"))
    dear = instance_type("m5.4xlarge", cpu=16, memory=64, price=price)
    old = replace(node("old", "m5.2xlarge", *large, *others), type=dear)
    asked = Cluster(nodes=(old,), offers=offers).problem()

    plan = repack(replace(asked, problem=replace(asked.problem, daemons=daemons)))

    assert removed(plan) == ["old"] or plan.staying[0].why.block is Block.CROWDED
    return bool(removed(plan))


@pytest.mark.parametrize("cores", [1, 64])
def test_what_nodes_of_another_pool_would_have_says_nothing_of_the_room_for_pods(cores: int) -> None:
    sizes = ("m5.xlarge", "m5.2xlarge")
    theirs = tuple(instance_type(name, cpu=cores, memory=64, price=0.5) for name in sizes)
    other = offer(pool("other", taints=(Taint("team", Effect.NO_SCHEDULE, "gpu"),)), theirs)

    for offers in ((_two_types(), other), (other, _two_types())):
        assert _crowded_goes(1.0, *offers)
        assert not _crowded_goes(0.7, *offers)


def test_what_daemons_take_of_new_nodes_is_no_room_for_pods() -> None:
    assert _crowded_goes(0.7, _two_types(), small=(3, "1300m"))
    assert not _crowded_goes(0.7, _two_types(), small=(3, "1300m"), daemons=(asking("200m", "1Gi"),))


def test_the_node_more_has_volumes_too() -> None:
    # The new nodes cost $0.4 more each, the node that goes costs $1.1 more: the move saves $0.3.
    assert not _crowded_goes(1.8, replace(_two_types(), volume_cost=0.4))


def test_a_node_whose_pods_may_be_left_stays_where_limits_forbid_a_node_more() -> None:
    assert _crowded_goes(1.0, replace(_two_types(), limits_left=Resources.parse({"cpu": 20})))
    assert not _crowded_goes(1.0, replace(_two_types(), limits_left=Resources.parse({"cpu": 16})))


def test_pods_go_to_nodes_that_stay_in_any_case_first() -> None:
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 2)) for i in range(3))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"n2"}))
    plan = repack(cluster.problem())
    assert removed(plan) == ["n0", "n1"]
    assert {target for move in plan.moves for target in move.nominations.values()} == {"n2"}


def test_a_preference_that_is_lost_counts_as_disruption_but_keeps_no_node() -> None:
    wish = asking(1, preferred=[(1, (expression(labels.ZONE, Operator.IN, "zone-a"),))])
    nodes = (node("a", "m5.large", *pods("a", 1, wish)), node("b", "m5.xlarge", *pods("b", 1), zone="zone-b"))
    (move,) = repack(Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"b"})).problem()).moves
    assert move.removed == ("a",)
    assert move.disruption == 3.0


def test_a_limit_that_leaves_no_room_for_a_replacement_is_the_reason_said() -> None:
    limited = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), limits={"cpu": 1})
    plan = repack(Cluster(nodes=(node("n", "m5.8xlarge", *pods("a", 1)),), offers=(limited,)).problem())
    assert plan.moves == ()
    assert "not all pods would schedule, default/a-0 => default: 1 of cpu is left of" in why(plan, "n")


def test_a_node_of_spot_is_not_replaced_by_spot_unless_that_is_allowed() -> None:
    spot = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.SPOT)))
    cluster = Cluster(nodes=(node("n", "m5.8xlarge", *pods("a", 1), way=labels.SPOT),), offers=(spot,))
    plan = repack(cluster.problem())
    assert plan.moves == ()
    assert "SpotToSpotConsolidation is disabled" in why(plan, "n")
    assert removed(repack(cluster.problem(spot_to_spot=True))) == ["n"]


def test_pods_do_not_fill_a_dear_spot_node_that_nothing_may_replace() -> None:
    # Were the node on demand to go alone, its pods would go there: and one on spot would be left as it is.
    nodes = (
        node("spot", "m5.8xlarge", *pods("a", 2), way=labels.SPOT),
        node("other", "m5.2xlarge", *pods("b", 1)),
    )
    plan = repack(Cluster(nodes=nodes, offers=(offer(pool("default")),)).problem())
    assert sorted(removed(plan)) == ["other", "spot"]
    assert plan.cost_after < 0.5 * nodes[0].price


def test_nodes_of_several_pools_go_together_as_far_as_the_budget_of_each_lets_them() -> None:
    small = instance_type("m5.large", cpu=2, memory=8, price=0.1)
    # A large node costs more than two small ones, and less than three.
    large = instance_type("m5.2xlarge", cpu=8, memory=32, price=0.25)
    offers = (offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), (small, large)),)
    some = [node(f"n{i}", "m5.large", *pods(f"p{i}", 1, asking("1500m"))) for i in range(4)]
    nodes = [replace(one, type=small, pool=of) for one, of in zip(some, "abbc", strict=True)]
    problem = Cluster(nodes=tuple(nodes), offers=offers).problem()
    (move,) = repack(replace(problem, terms=dict.fromkeys("abc", PoolTerms(allowed=1)))).moves
    assert move.removed == ("n0", "n1", "n3")


def test_a_node_that_scores_too_little_alone_goes_with_one_that_scores_more() -> None:
    nodes = (
        node("home", "m5.8xlarge", *pods("h", 1)),
        node("large", "m5.4xlarge", *pods("a", 1)),
        node("small", "m5.large", *pods("b", 2, asking("100m"))),
    )
    cluster = Cluster(nodes=nodes, offers=(), staying=frozenset({"home"}))
    cost = sum(one.price + 0.02 for one in nodes)
    balanced = PoolTerms(policy=ConsolidationPolicy.BALANCED, cost=cost, disruption=7.0)
    alone = replace(cluster, nodes=(nodes[0], nodes[2]))
    assert removed(repack(alone.problem(terms=balanced))) == []
    assert sorted(removed(repack(cluster.problem(terms=balanced)))) == ["large", "small"]


def test_pods_that_keep_apart_from_each_other_are_not_brought_together() -> None:
    apart = PodAffinityTerm(labels.HOSTNAME, LabelSelector((("app", "x"),)), anti=True)
    spec = replace(asking("100m"), pod_affinity=(apart,))
    some = [replace(one, labels={"app": "x"}) for one in pods("p", 3, spec)]
    nodes = tuple(node(f"n{i}", "m5.large", one) for i, one in enumerate(some))
    plan = repack(Cluster(nodes=nodes, offers=(ON_DEMAND,)).problem())
    assert all(move.action is Action.REPLACE for move in plan.moves)
    assert not any(move.nominations for move in plan.moves)


def test_pods_that_wait_get_their_places_first() -> None:
    nodes = (node("a", "m5.large", *pods("a", 1, asking("900m"))), node("b", "m5.large", *pods("b", 1)))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"b"}))
    assert removed(repack(cluster.problem())) == ["a"]
    late = replace(cluster, waiting=pods("w", 1, asking("900m", "1Gi", selector={labels.HOSTNAME: "b"})))
    plan = repack(late.problem())
    assert not any("b" in move.nominations.values() for move in plan.moves)


def test_no_running_pod_goes_to_a_node_that_is_not_to_receive_any() -> None:
    nodes = (node("a", "m5.large", *pods("a", 1)), node("b", "m5.large", *pods("b", 1, asking("500m"))))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"b"}))
    assert not any(move.nominations for move in repack(cluster.problem(not_receiving=frozenset({"b"}))).moves)


def test_a_patient_node_waits_until_others_may_receive_its_pods_and_is_not_replaced() -> None:
    nodes = tuple(node(name, "m5.2xlarge", *pods(name, 1, asking("500m"))) for name in ("a", "b", "c"))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"c"}))
    now = cluster.problem(not_receiving=frozenset({"b", "c"}))
    alone = replace(now, candidates=tuple(one for one in now.candidates if one.name == "a"))
    patient = replace(alone, candidates=(replace(alone.candidates[0], patient=True),))

    assert repack(alone).moves[0].claims
    plan = repack(patient)

    assert plan.moves == ()
    assert [one.why.block for one in plan.staying] == [Block.RECEIVERS_WINDOW]
    assert removed(repack(replace(patient, not_receiving=frozenset()))) == ["a"]


def test_a_patient_node_is_replaced_where_no_node_would_have_room_for_its_pods() -> None:
    full = node("b", "m5.large", *pods("b", 1, asking("1500m")))
    nodes = node("a", "m5.2xlarge", *pods("a", 1, asking("1"))), full
    problem = Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"b"})).problem(
        not_receiving=frozenset({"b"})
    )
    patient = replace(problem, candidates=tuple(replace(one, patient=True) for one in problem.candidates))

    assert repack(patient).moves == repack(problem).moves
    assert repack(patient).moves[0].claims


def test_no_more_nodes_go_than_budgets_allow_unless_the_whole_plan_is_wanted() -> None:
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 1)) for i in range(7))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,))
    plan = repack(cluster.problem(terms=PoolTerms(allowed=2)))
    assert len(removed(plan)) == 2
    assert any("blocking budget of default" in one.why.sentence for one in plan.staying)
    assert len(removed(repack(cluster.problem(terms=PoolTerms(allowed=2), whole=True)))) == 7


def test_what_budgets_let_go_first_is_part_of_the_whole_plan() -> None:
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 1 + i % 3)) for i in range(12))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,))
    whole = repack(cluster.problem(whole=True))
    first = repack(cluster.problem(terms=PoolTerms(allowed=3)))
    assert removed(first) == removed(whole)[:3]
    # So no node takes pods now that is to go when budgets allow more.
    assert not {name for move in first.moves for name in move.nominations.values()} & set(removed(whole))


def test_a_plan_names_the_nodes_that_go_when_budgets_allow_more() -> None:
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 1 + i % 3)) for i in range(12))
    cluster = Cluster(nodes=nodes, offers=(ON_DEMAND,))

    whole = repack(cluster.problem(whole=True))
    first = repack(cluster.problem(terms=PoolTerms(allowed=3)))

    assert whole.later == ()
    assert list(first.later) == removed(whole)[3:]


def test_nodes_that_an_earlier_plan_was_to_take_later_go_before_others() -> None:
    alike = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 3)) for i in range(4))
    problem = Cluster(nodes=alike, offers=()).problem()
    named = tuple(replace(one, goes_later=one.name in ("n2", "n3")) for one in problem.candidates)

    assert removed(repack(problem)) == ["n0", "n1"]
    assert removed(repack(replace(problem, candidates=named))) == ["n2", "n3"]


def test_a_move_comes_after_those_whose_pods_its_own_are_placed_by() -> None:
    spread = TopologySpread(labels.ZONE, 1, hard=True, selector=LabelSelector((("app", "x"),)))
    some = [
        replace(one, labels={"app": "x"}) for one in pods("p", 4, replace(asking("500m"), spread=(spread,)))
    ]
    nodes = (
        *(node(f"n{i}", "m5.large", one, zone=ZONES[i % 2]) for i, one in enumerate(some)),
        node("free", "m5.large", *pods("q", 1, asking("100m"))),
        node("home", "m5.2xlarge", *pods("r", 1)),
    )
    plan = repack(Cluster(nodes=nodes, offers=(), staying=frozenset({"home"})).problem())
    spread_moves = [at for at, move in enumerate(plan.moves) if move.removed != ("free",)]
    assert len(spread_moves) > 1
    for earlier, later in pairwise(spread_moves):
        assert earlier in plan.moves[later].after
    assert all(move.after == () for move in plan.moves if move.removed == ("free",))


def test_a_pool_with_payback_moves_nothing_for_cents() -> None:
    big = node("big", "m5.xlarge", *pods("a", 3, asking("600m", "4Gi")))
    cluster = Cluster(nodes=(big,), offers=(ON_DEMAND,))
    assert len(repack(cluster.problem()).moves) <= 1
    soon = PoolTerms(payback=timedelta(minutes=1))
    plan = repack(cluster.problem(terms=soon))
    assert plan.moves == ()


def test_a_node_of_unknown_price_may_go_but_is_not_replaced() -> None:
    cluster = Cluster(nodes=(node("big", "m5.8xlarge", *pods("a", 1)),), offers=(ON_DEMAND,))
    problem = cluster.problem()
    unknown = replace(problem, candidates=tuple(replace(one, price=None) for one in problem.candidates))
    assert repack(unknown).moves == ()


def test_nothing_moves_where_pods_of_a_candidate_are_not_told() -> None:
    nodes = tuple(node(name, "m5.2xlarge", *pods(name, 1)) for name in ("a", "b", "c"))
    problem = Cluster(nodes=nodes, offers=(ON_DEMAND,)).problem()
    told = replace(problem.problem, pods=tuple(pod for pod in problem.problem.pods if pod.uid != "a-0"))
    plan = repack(replace(problem, problem=told))
    assert plan.moves == ()
    assert why(plan, "b") == "not all pods of node a are known"


def test_pods_that_nothing_can_hold_keep_their_node() -> None:
    claimed = replace(asking(1), resource_claims=(PodResourceClaim("gpu", "shared"),))
    nodes = (node("a", "m5.large", *pods("a", 1, claimed)), node("b", "m5.2xlarge", *pods("b", 1)))
    plan = repack(Cluster(nodes=nodes, offers=(ON_DEMAND,), staying=frozenset({"b"})).problem())
    assert plan.moves == ()
    assert "resource claim" in why(plan, "a")


def test_the_plan_does_not_depend_on_the_order_of_candidates() -> None:
    nodes = tuple(node(f"n{i}", "m5.2xlarge", *pods(f"p{i}", 1 + i % 4)) for i in range(9))
    problem = Cluster(nodes=nodes, offers=(ON_DEMAND,)).problem()
    backwards = replace(problem, candidates=problem.candidates[::-1])
    assert repack(problem) == repack(backwards)


def test_zones_of_a_spread_stay_even() -> None:
    spread = TopologySpread(labels.ZONE, 1, hard=True, selector=LabelSelector((("app", "x"),)))
    spec: PodSpec = replace(asking("500m"), spread=(spread,))
    some = [replace(one, labels={"app": "x"}) for one in pods("p", 4, spec)]
    nodes = tuple(node(f"n{i}", "m5.large", one, zone=ZONES[i % 2]) for i, one in enumerate(some))
    plan = repack(Cluster(nodes=nodes, offers=()).problem())
    zone_of = {one.name: one.zone for one in nodes}
    for move in plan.moves:
        for uid, target in move.nominations.items():
            assert zone_of[target] == zone_of[f"n{uid[-1]}"]
    assert len(removed(plan)) == 2
