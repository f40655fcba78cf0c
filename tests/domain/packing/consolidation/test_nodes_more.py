"""Nodes more: the price of nodes for pods that a move may leave without a place, and moves refused for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, Standing, node
from tests.domain.packing.problems import (
    asking,
    catalogue,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
)
from tests.domain.reserved import count
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import Expression, LabelSelector, PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.packing.consolidation.bought import Bought
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.packing.consolidation.rearrangement import Rearrangement
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.scheduling.reserved_offers import Stock

ON_DEMAND = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
RESERVED_ONLY = is_in(labels.CAPACITY_TYPE, labels.RESERVED)
EITHER = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND, labels.RESERVED)
# With $0.02/h for each node: an m6g.large takes the pod that is left.
SMALLEST = pytest.approx(0.097)
FOUR_HOURS = PoolTerms(payback=timedelta(hours=4))


def on(key: str, *values: str) -> Expression:
    return expression(key, Operator.IN, *values)


RESERVED = on(labels.CAPACITY_TYPE, "reserved")


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """A large node with ten pods: one of nine small ones is left, as the large one takes the emptiest node.

    In the plan, the large one goes to the node `half`, six small ones to `free`, three to a new m5.xlarge.
    Existing nodes have the `node_labels`; `left` instances are left of a reservation of m5.xlarge.
    """

    of: NodePool = field(default_factory=lambda: pool("default", EITHER))
    left: int = 1
    required: tuple[tuple[Expression, ...], ...] = ()
    preferred: tuple[tuple[int, tuple[Expression, ...]], ...] = ()
    spread: tuple[TopologySpread, ...] = ()
    node_labels: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] | None = None
    types: tuple[InstanceType, ...] = field(default_factory=catalogue)
    beside: tuple[PoolOffer, ...] = ()
    others: tuple[Standing, ...] = ()
    price: float = 0.768
    terms: PoolTerms = FOUR_HOURS

    def spec(self, cpu: str) -> PodSpec:
        return replace(asking(cpu, required=self.required, preferred=self.preferred), spread=self.spread)

    def offers(self) -> tuple[PoolOffer, ...]:
        counts = (count("cr-1", "m5.xlarge", "zone-a", left=self.left),) if self.left else ()
        limits = None if self.limits is None else Resources.parse(self.limits)
        return (*Stock.of(with_reserved(self.types, counts)).offers(self.of, limits, taken={}), *self.beside)

    def nodes(self) -> Iterator[Standing]:
        some = (*pods("small", 9, self.spec("1300m")), *pods("large", 1, self.spec("3600m")))
        dear = instance_type("m5.4xlarge", cpu=16, memory=64, price=self.price)
        yield replace(node("big", "m5.4xlarge", *some, node_labels=self.node_labels), type=dear)
        yield node("half", "m5.2xlarge", *pods("stay", 1, asking("4270m")), node_labels=self.node_labels)
        yield node("free", "m5.2xlarge", node_labels=self.node_labels)
        yield from self.others

    def cluster(self) -> Cluster:
        staying = frozenset(("half", "free", *(one.name for one in self.others)))
        return Cluster(nodes=tuple(self.nodes()), offers=self.offers(), staying=staying)

    def plan(self) -> ConsolidationPlan:
        return repack(self.cluster().problem(terms=self.terms))

    def more(self) -> float:
        """Return the price of the nodes more, $/h, without `big`."""
        problem = self.cluster().problem()
        rearrangement = Rearrangement(problem.problem, problem.candidates)
        trial = rearrangement.without_bought(["big"])
        assert [claim.instance_types[0] for claim in trial.claims] == ["m5.xlarge"]
        return rearrangement.node_more(trial, Bought())


def test_a_pod_that_is_left_by_a_move_into_a_reservation_gets_a_node_on_demand() -> None:
    leaving = Leaving()

    assert leaving.more() == SMALLEST
    (move,) = leaving.plan().moves
    assert [claim.reservation for claim in move.claims] == ["cr-1"]


def test_it_gets_a_node_in_the_reservation_where_there_is_room() -> None:
    assert Leaving(of=pool("default", RESERVED_ONLY), left=2).more() == pytest.approx(0.02)


def test_it_gets_one_of_another_pool_where_its_own_buys_nothing_but_what_is_reserved() -> None:
    other = offer(pool("other", ON_DEMAND))

    assert Leaving(of=pool("default", RESERVED_ONLY), beside=(other,)).more() == SMALLEST


def test_it_gets_one_in_another_zone_where_there_is_none_in_that_of_the_reservation() -> None:
    ran_out = (("zone-a", "on-demand"), ("zone-a", "spot"))
    types = (instance_type("m5.xlarge", cpu=4, memory=16, price=0.192, out_of=ran_out),)

    assert Leaving(types=types).more() == pytest.approx(0.212)


IN_RESERVED = {labels.CAPACITY_TYPE: "reserved"}
IN_CR_1 = {labels.RESERVATION_ID: "cr-1"}


@pytest.mark.parametrize(
    "leaving",
    [
        Leaving(of=pool("default", RESERVED_ONLY)),
        Leaving(of=pool("default", node_labels=IN_RESERVED), node_labels=IN_RESERVED),
        Leaving(of=pool("default", node_labels=IN_CR_1), node_labels=IN_CR_1),
        Leaving(required=((RESERVED,),), node_labels=IN_RESERVED),
        Leaving(required=((on(labels.RESERVATION_ID, "cr-1"),),), node_labels=IN_CR_1),
        Leaving(
            required=((RESERVED,), (on("disk", "ssd"), on(labels.CAPACITY_TYPE, "on-demand"))),
            node_labels=IN_RESERVED,
        ),
        Leaving(limits={"cpu": 4}),
        Leaving(limits={"nodes": 1}),
    ],
    ids=[
        "pool of reserved capacity",
        "label of the pool",
        "reservation in a label of the pool",
        "pods on reserved capacity",
        "pods in the reservation",
        "an alternative that no pool has",
        "limit of CPU",
        "limit of nodes",
    ],
)
def test_no_node_moves_whose_pods_may_be_left_where_nothing_can_be_bought_for_them(leaving: Leaving) -> None:
    assert leaving.more() == math.inf
    plan = leaving.plan()
    assert not plan.moves
    assert "may take each other's places" in plan.staying[0].why.sentence


@pytest.mark.parametrize(
    ("alternative", "price"),
    [
        ((on(labels.INSTANCE_SIZE, "8xlarge"),), 1.252),
        ((on(labels.INSTANCE_FAMILY, "r5"),), 0.146),
    ],
    ids=["larger", "another family"],
)
def test_all_of_the_alternative_counts_that_a_pod_has_to_reserved_capacity(
    alternative: tuple[Expression, ...], price: float
) -> None:
    in_m5 = (RESERVED, on(labels.INSTANCE_FAMILY, "m5"))
    on_demand = on(labels.CAPACITY_TYPE, "on-demand")

    there = {**IN_RESERVED, labels.INSTANCE_FAMILY: "m5"}
    leaving = Leaving(required=(in_m5, (*alternative, on_demand)), node_labels=there)

    assert leaving.more() == pytest.approx(price)
    assert bool(leaving.plan().moves) is (price < 0.7)


def test_what_pods_prefer_of_the_way_to_buy_is_kept() -> None:
    all_ways = pool("default", is_in(labels.CAPACITY_TYPE, "reserved", "on-demand", "spot"))
    preferred = ((100, (on(labels.CAPACITY_TYPE, "reserved", "on-demand"),)),)

    assert Leaving(of=all_ways, preferred=preferred, node_labels=IN_RESERVED).more() == SMALLEST


@pytest.mark.parametrize(("hard", "price"), [(False, SMALLEST), (True, 0.0)])
def test_a_spread_that_pods_only_prefer_does_not_hold_them_where_they_are_planned(
    *, hard: bool, price: float
) -> None:
    spread = TopologySpread(labels.HOSTNAME, max_skew=20, hard=hard, selector=LabelSelector())

    assert Leaving(spread=(spread,)).more() == price


def test_pods_that_others_must_keep_away_from_count_where_they_are_planned() -> None:
    alone = PodAffinityTerm(labels.HOSTNAME, LabelSelector(), anti=True)
    guard = replace(asking("1"), pod_affinity=(alone,))

    assert Leaving(others=(node("guarded", "m5.large", *pods("guard", 1, guard)),)).more() == 0.0


@pytest.mark.parametrize("payback", [None, timedelta(hours=8760)])
def test_a_move_that_hardly_saves_is_not_made_though_its_pool_has_time_for_it(
    payback: timedelta | None,
) -> None:
    terms = PoolTerms(payback=payback)
    plan = Leaving(of=pool("default", ON_DEMAND), left=0, price=0.156, terms=terms).plan()

    assert "may take each other's places" in plan.staying[0].why.sentence


def test_the_payback_of_pools_whose_nodes_stay_does_not_count() -> None:
    problem = Leaving(of=pool("default", ON_DEMAND), left=0, price=0.32).cluster().problem(terms=FOUR_HOURS)
    hasty = replace(problem, terms={**problem.terms, "hasty": PoolTerms(payback=timedelta(minutes=30))})

    assert repack(hasty).moves == repack(problem).moves != ()


def test_a_pod_that_suits_a_node_bought_for_others_may_take_their_place() -> None:
    for_arm = asking("1500m", selector={labels.ARCH: "arm64"})
    some = (*pods("arm", 2, for_arm), *pods("any", 1, asking("1600m")))
    big = replace(
        node("big", "m6g.4xlarge", *some),
        type=instance_type("m6g.4xlarge", cpu=16, memory=64, price=0.22, arch="arm64"),
    )
    full = node("full", "m5.2xlarge", *pods("stay", 1, asking("6100m")))
    offers = (offer(pool("default", ON_DEMAND)),)

    plan = repack(
        Cluster(nodes=(big, full), offers=offers, staying=frozenset(("full",))).problem(terms=FOUR_HOURS)
    )

    assert not plan.moves


def test_limits_count_what_a_move_lists_and_not_what_else_its_pods_could_run_on() -> None:
    # The move lists types of up to 16 CPU, and its pods could run on one of 32.
    leaving = Leaving(of=pool("default", ON_DEMAND), left=0, limits={"cpu": 20})

    assert leaving.plan().moves


def cells(*, limits: Mapping[str, int] | None = None, left: int = 0) -> ConsolidationPlan:
    """Plan for two nodes whose pods fit on an m5.xlarge each; `left` instances of one are reserved."""
    standing = []
    for name in ("one", "other"):
        cell = {"cell": name}
        some = pods(name, 3, asking("1200m", selector=cell))
        standing.append(node(name, "m5.4xlarge", *some, node_labels=cell))
    of = pool("default", EITHER, is_in("cell", "one", "other"))
    types = tuple(one for one in catalogue() if one.name == "m5.xlarge")
    counts = (count("cr-1", "m5.xlarge", "zone-a", left=left),) if left else ()
    most = None if limits is None else Resources.parse(limits)
    offers = Stock.of(with_reserved(types, counts)).offers(of, most, taken={})
    return repack(Cluster(nodes=tuple(standing), offers=offers).problem(terms=FOUR_HOURS))


@pytest.mark.parametrize("limits", [{"nodes": 1}, {"cpu": 4}, {"cpu": 7}])
def test_moves_together_keep_the_limits_of_a_pool(limits: Mapping[str, int]) -> None:
    assert sum(len(move.claims) for move in cells(limits=limits).moves) == 1


def test_moves_together_use_up_a_reservation_and_no_more() -> None:
    claims = [claim for move in cells(left=1).moves for claim in move.claims]

    assert sorted(claim.reservation for claim in claims) == ["", "cr-1"]
