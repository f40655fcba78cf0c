from __future__ import annotations

from collections import Counter

import pytest

from tests.domain.packing.problems import asking, instance_type, offer, pods, pool, problem
from tests.domain.reserved import count
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import Count, with_reserved
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.packing.decide import decide
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import Packing, PackingSettings, PoolOffer
from treenail.domain.packing.refusal_reasons import Reason
from treenail.domain.scheduling.reserved_offers import Stock

TYPES = (
    instance_type("c5.xlarge", cpu=4, memory=8, price=0.17),
    instance_type("c5.2xlarge", cpu=8, memory=16, price=0.34),
)
PACKINGS = pytest.mark.parametrize("packing", list(Packing))


def offers(
    *counts: Count, of: NodePool | None = None, limits: Resources | None = None
) -> tuple[PoolOffer, ...]:
    return Stock.of(with_reserved(TYPES, counts)).offers(of or pool(), limits, taken={})


def reservation_of(claim: PlannedClaim) -> str:
    asked = claim.requirements.get(labels.RESERVATION_ID)
    return (asked.single or "") if asked is not None else ""


def ways(plan: PackingPlan) -> Counter[str]:
    """How many claims are on which reservation, "" being none."""
    return Counter(map(reservation_of, plan.claims))


def count_of(name: str = "cr-1", *, left: int, of: str = "c5.xlarge", zone: str = "zone-a") -> Count:
    return count(name, of, zone, left=left)


@PACKINGS
def test_what_is_reserved_is_used_up_first_and_never_exceeded(packing: Packing) -> None:
    settings = PackingSettings(packing=packing)

    plan = pack(problem(pods("web", 5, asking(3)), offers=offers(count_of(left=2)), settings=settings))

    assert ways(plan)["cr-1"] == 2
    assert sum(len(claim.pods) for claim in plan.claims) == 5
    on_reserved = [claim for claim in plan.claims if reservation_of(claim)]
    assert all(claim.instance_types == ("c5.xlarge",) for claim in on_reserved)
    assert all(claim.requirements[labels.CAPACITY_TYPE].single == "reserved" for claim in on_reserved)
    assert all(claim.requirements[labels.ZONE].single == "zone-a" for claim in on_reserved)


@PACKINGS
def test_two_pools_share_what_is_left_of_a_reservation(packing: Packing) -> None:
    # Each pod can be on one of the pools alone.
    one, other = pool("one", node_labels={"team": "one"}), pool("other", node_labels={"team": "other"})
    both = (*offers(count_of(left=3), of=one), *offers(count_of(left=3), of=other))
    pod_groups = (pods(name, 2, asking(3, selector={"team": name})) for name in ("one", "other"))

    plan = pack(problem(*pod_groups, offers=both, settings=PackingSettings(packing=packing)))

    assert ways(plan)["cr-1"] == 3
    assert not plan.refused


@PACKINGS
def test_the_limits_of_a_pool_hold_for_reserved_and_other_capacity_together(packing: Packing) -> None:
    limits = Resources.parse({"cpu": 12})

    plan = pack(
        problem(
            pods("web", 5, asking(3)),
            offers=offers(count_of(left=2), limits=limits),
            settings=PackingSettings(packing=packing),
        )
    )

    assert sum(claim.largest["cpu"] for claim in plan.claims) <= 12_000
    assert sum(len(claim.pods) for claim in plan.claims) == 3
    assert ways(plan)["cr-1"] == 2


def test_a_pod_may_ask_for_a_reservation_and_gets_no_other() -> None:
    only = {labels.RESERVATION_ID: "cr-2"}
    both = offers(count_of(left=2), count_of("cr-2", left=1, zone="zone-b"))

    plan = pack(problem(pods("web", 2, asking(3, selector=only)), offers=both))

    assert ways(plan) == {"cr-2": 1}
    ((refusal,),) = (group.refusals for group in plan.refused)
    assert refusal.reason is Reason.NO_CAPACITY


def test_a_pool_of_reserved_capacity_alone_refuses_what_is_over_it_by_name_once() -> None:
    reserved_only = pool("reserved", Requirement.of(labels.CAPACITY_TYPE, Operator.IN, ("reserved",)))

    plan = decide(problem(pods("web", 3, asking(3)), offers=offers(count_of(left=2), of=reserved_only)))

    assert ways(plan) == {"cr-1": 2}
    ((refusal,),) = (group.refusals for group in plan.refused)
    assert (refusal.pool, refusal.reason) == ("reserved", Reason.NO_CAPACITY)


def test_a_heavier_pool_without_reserved_capacity_comes_before_a_lighter_one_that_has_some() -> None:
    heavy = offer(pool("heavy", weight=10), TYPES)

    plan = pack(problem(pods("web", 2, asking(3)), offers=(heavy, *offers(count_of(left=2)))))

    assert {claim.pool for claim in plan.claims} == {"heavy"}


def test_pods_that_will_not_have_reserved_capacity_get_other() -> None:
    spec = asking(3, selector={labels.CAPACITY_TYPE: "on-demand"})

    plan = pack(problem(pods("web", 2, spec), offers=offers(count_of(left=2))))

    assert set(ways(plan)) == {""}


def test_reserved_capacity_costs_next_to_nothing_in_the_plan() -> None:
    plan = pack(problem(pods("web", 1, asking(3)), offers=offers(count_of(left=1))))

    assert plan.cost == pytest.approx(0.17 / 10_000_000)
    assert plan.lower_bound <= plan.cost


def test_the_order_of_reservations_does_not_depend_on_how_they_were_found() -> None:
    counts = (count_of("cr-2", left=1), count_of("cr-1", left=1), count_of("cr-3", left=1, of="c5.2xlarge"))

    plans = {
        tuple(map(reservation_of, pack(problem(pods("web", 3, asking(3)), offers=offers(*order))).claims))
        for order in (counts, counts[::-1])
    }

    assert len(plans) == 1
