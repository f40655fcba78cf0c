from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from tests.domain.packing.advised import advised
from tests.domain.packing.problems import (
    asking,
    catalogue,
    first_fit,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.refusal_reasons import Reason

TWO_SIZES = (
    instance_type("c5.xlarge", cpu=4, memory=8, price=0.17),
    instance_type("c5.2xlarge", cpu=8, memory=16, price=0.34),
)


def limited(**limits: str | int) -> PoolOffer:
    return offer(pool("default"), TWO_SIZES, limits=limits)


def used(plan: PackingPlan, pool_name: str = "default") -> Mapping[str, int]:
    return total(claim.largest for claim in plan.claims if claim.pool == pool_name)


def test_types_over_what_is_left_are_not_listed() -> None:
    (claim,) = pack(problem(pods("web", 1), offers=(limited(cpu=7),))).claims

    assert claim.instance_types == ("c5.xlarge",)


def test_a_claim_keeps_all_types_the_limit_allows() -> None:
    (claim,) = pack(problem(pods("web", 1), offers=(limited(cpu=8),))).claims

    assert claim.instance_types == ("c5.xlarge", "c5.2xlarge")
    assert claim.largest["cpu"] == 8000


def test_claims_give_up_choice_where_all_of_them_would_else_not_fit() -> None:
    near, far = asking(3), asking("2500m")

    plan = pack(problem(pods("near", 1, near), pods("far", 1, far), offers=(limited(cpu=12),)))

    assert [claim.instance_types for claim in plan.claims] in (
        [("c5.xlarge", "c5.2xlarge"), ("c5.xlarge",)],
        [("c5.2xlarge",)],
    )
    assert used(plan)["cpu"] <= 12_000


def test_pods_over_the_limit_are_refused_and_say_so() -> None:
    for make in (problem, lambda *pod_groups, **more: first_fit(problem(*pod_groups, **more))):
        plan = pack(make(pods("web", 9, asking(3)), offers=(limited(cpu=21),)))

        assert used(plan)["cpu"] <= 21_000
        assert sum(len(claim.pods) for claim in plan.claims) == 5
        ((refused,), left) = ([r.refusals for r in plan.refused], sum(len(r.pods) for r in plan.refused))
        assert left == 4
        assert refused[0].reason is Reason.LIMIT_REACHED
        assert (
            refused[0].detail
            == "1 of cpu is left of the limit, and the smallest type that would do has 4 (c5.xlarge)"
        )


def test_a_limit_on_nodes_counts_claims() -> None:
    plan = pack(problem(pods("web", 4, asking(6)), offers=(limited(nodes=3),)))

    assert [len(claim.pods) for claim in plan.claims] == [1, 1, 1]
    assert plan.refused[0].pods == ("web-3",)
    assert plan.refused[0].refusals[0].detail == "no more nodes are left of the limit"


def test_more_nodes_are_advised_in_so_many_words() -> None:
    three = replace(pool("default"), limits=Resources.parse({"nodes": 3}))
    of = replace(limited(nodes=3), pool=three)

    (group,) = advised(problem(pods("web", 4, asking(6)), offers=(of,)))

    assert str(group.remedy) == "it would fit if NodePool default were allowed 4 nodes instead of 3"


def test_what_a_limit_leaves_over_goes_to_the_next_pool() -> None:
    next_pool = offer(pool("next"), TWO_SIZES)

    plan = pack(problem(pods("web", 4, asking(6)), offers=(limited(cpu=16), next_pool)))

    assert Counter(claim.pool for claim in plan.claims) == {"default": 2, "next": 2}
    assert plan.refused == ()


def test_an_overdrawn_limit_lets_nothing_more_in() -> None:
    plan = pack(problem(pods("web", 1), offers=(offer(pool(), TWO_SIZES, limits={"gpu": -1}),)))

    assert plan.claims == ()
    assert "-1 of gpu is left" in plan.refused[0].refusals[0].detail


def test_claims_that_grow_together_do_not_both_take_the_last_of_a_limit() -> None:
    anchors = [
        pods(zone, 1, asking(3, selector={"topology.kubernetes.io/zone": zone}))
        for zone in ("zone-a", "zone-b")
    ]
    of = first_fit(problem(*anchors, pods("more", 4, asking("900m")), offers=(limited(cpu=12),)))

    plan = pack(of)

    assert used(plan)["cpu"] <= 12_000
    assert sum(len(r.pods) for r in plan.refused) == 0


def test_limits_that_only_together_leave_nothing() -> None:
    types = (
        instance_type("r5.xlarge", cpu=4, memory=32, price=0.25),
        instance_type("c5.2xlarge", cpu=8, memory=8, price=0.34),
    )

    plan = pack(problem(pods("web", 1), offers=(offer(pool(), types, limits={"cpu": 4, "memory": "16Gi"}),)))

    assert plan.refused[0].refusals[0].reason is Reason.LIMIT_REACHED
    assert plan.refused[0].refusals[0].detail == (
        "16Gi of memory is left of the limit, and "
        "of types within other limits the nearest has 32Gi (r5.xlarge)"
    )


def test_nodes_that_waste_less_leave_limits_for_more_pods() -> None:
    thin, fat = asking(1, "14Gi"), asking(2, "1Gi")
    of = problem(
        pods("fat", 20, fat),
        pods("thin", 20, thin),
        offers=(offer(types=catalogue()[5:10], limits={"cpu": 80}),),
    )

    classic, cheapest = pack(first_fit(of)), pack(of)

    placed = [sum(len(claim.pods) for claim in plan.claims) for plan in (classic, cheapest)]
    assert placed == [33, 40]


def test_what_limits_leave_too_few_types_for_becomes_smaller_nodes() -> None:
    sizes = tuple(instance_type(f"c5.{n}", cpu=n, memory=4 * n, price=0.1 * n) for n in (2, 4, 8))
    two_of_them = replace(is_in(labels.INSTANCE_TYPE, *(one.name for one in sizes)), min_values=2)
    offers = (offer(pool("default", two_of_them), sizes, limits={"cpu": 13}),)

    plan = pack(problem(pods("web", 6, asking("900m")), offers=offers))

    assert plan.refused == ()
    assert [claim.instance_types for claim in plan.claims] == [("c5.4", "c5.8"), ("c5.2", "c5.4")]
