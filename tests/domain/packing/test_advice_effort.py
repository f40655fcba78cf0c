from __future__ import annotations

from dataclasses import replace
from typing import Never

from tests.domain.packing.advised import advised
from tests.domain.packing.problems import (
    asking,
    existing_node,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.advice.advice import Effort, with_remedies
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem

TEAM = Taint("team", Effect.NO_SCHEDULE, "gpu")


class Packer:
    """Packs, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.tries = 0

    def __call__(self, of: Problem) -> PackingPlan:
        self.tries += 1
        return pack(of)


def test_a_plan_that_refuses_nobody_stays_as_it_is() -> None:
    of = problem(pods("web", 3))
    plan, packer = pack(of), Packer()

    assert with_remedies(of, plan, packer) is plan
    assert packer.tries == 0


def test_tries_are_counted_for_a_class_and_for_all() -> None:
    hopeless = [
        pods(f"web{n}", 1, asking(100 + n, selector={"a": "1", "b": "2", "c": "3", "d": "4"}))
        for n in range(9)
    ]
    of = problem(*hopeless)
    plan = pack(of)

    def tries(effort: Effort) -> int:
        packer = Packer()
        refused = with_remedies(of, plan, packer, effort).refused
        assert all(group.remedy is None and group.nearest is not None for group in refused)
        return packer.tries

    assert tries(Effort(tries=5)) == 9 * 5
    assert tries(Effort(tries=5, in_all=12)) == 12
    assert tries(Effort(tries=5, classes=2)) == 2 * 5


def test_tries_are_made_on_the_pools_and_nodes_that_came_nearest() -> None:
    existing_nodes = tuple(
        existing_node(f"n{n:02}", {"cpu": n, "memory": "9Gi", "pods": 9}) for n in range(50)
    )
    offers = tuple(
        offer(pool(f"p{n}", is_in(labels.ZONE, "zone-c"), taints=(TEAM,) if n % 3 else ())) for n in range(9)
    )
    of = problem(pods("web", 1, asking(60)), offers=offers, existing_nodes=existing_nodes)
    seen: list[Problem] = []

    def packing(one: Problem) -> PackingPlan:
        seen.append(one)
        return pack(one)

    with_remedies(of, pack(of), packing, Effort(pools=2, existing_nodes=3))

    pools = {tuple(o.pool.name for o in one.offers) for one in seen}
    assert {()} < pools <= {(), ("p0",), ("p1",)}
    assert {tuple(r.name for r in one.existing_nodes) for one in seen} == {("n49", "n48", "n47")}


def test_advice_does_not_depend_on_the_order_of_pods() -> None:
    pod_groups = [*pods("a", 3, asking(90)), *pods("b", 2, asking(selector={"colour": "red"}))]
    forth, back = problem(tuple(pod_groups)), problem(tuple(reversed(pod_groups)))

    assert advised(forth) == advised(back)


def test_the_report_of_a_class_has_the_same_advice() -> None:
    of = problem(pods("a", 3, asking(90)), pods("b", 2), pods("c", 2, asking(selector={"colour": "red"})))

    plan = with_remedies(of, pack(of), pack)

    told = [(c.refusals, c.nearest, c.remedy) for c in plan.classes if c.refused]
    assert told == [(g.refusals, g.nearest, g.remedy) for g in plan.refused]
    assert all(remedy is not None for _, _, remedy in told)
    (placed,) = [c for c in plan.classes if not c.refused]
    assert (placed.nearest, placed.remedy) == (None, None)


def test_what_goes_wrong_costs_the_advice_alone() -> None:
    of = problem(pods("web", 1, asking(90)))
    plan = pack(of)

    def broken(_: Problem) -> Never:
        raise RuntimeError("no")

    found = with_remedies(of, plan, broken)
    (group,) = found.refused

    assert found.problems == ("there is no advice for default/web-0: RuntimeError: no",)
    assert group.remedy is None
    assert group.nearest == plan.refused[0].refusals[0]


def test_a_limit_is_raised_for_those_as_well_who_would_take_what_that_leaves() -> None:
    small = (instance_type("c5.xlarge", cpu=4, memory=8, price=0.2),)
    of_team = replace(pool("heavy", node_labels={"team": "a"}), limits=Resources.parse({"cpu": 4}))
    heavy = offer(of_team, small, limits={"cpu": 4})
    strict = pods("strict", 1, asking(1, selector={"team": "a"}))
    of = problem(pods("flexible", 2, asking(3)), strict, offers=(heavy, offer(pool("light"), small)))

    def allowed(effort: Effort) -> object:
        (group,) = advised(of, effort)
        assert group.remedy is not None
        (change,) = group.remedy.changes
        return change.after

    assert allowed(Effort(anew=0)) == {"cpu": "8"}
    assert allowed(Effort(pods=2)) == {"cpu": "8"}
    assert allowed(Effort()) == {"cpu": "12"}
    enough = replace(heavy, limits_left=Resources.parse({"cpu": 12}))
    assert pack(replace(of, offers=(enough, of.offers[1]))).refused == ()
