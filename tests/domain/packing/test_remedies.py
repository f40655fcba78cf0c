from __future__ import annotations

from dataclasses import replace
from typing import Never

import pytest

from tests.domain.packing.problems import (
    asking,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
    room,
)
from treenail.domain import labels
from treenail.domain.node_pools import Generation
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.problem import PoolOffer, Problem, Room
from treenail.domain.packing.remedies.advice import Effort, with_remedies
from treenail.domain.pods import PodSpec
from treenail.domain.reasons import Reason, Refusal, Values
from treenail.domain.remedies import Change, ChangeKind
from treenail.domain.requirements import Operator, Requirement
from treenail.domain.resources import Resources
from treenail.domain.taints import NOT_READY, Effect, Taint

TEAM = Taint("team", Effect.NO_SCHEDULE, "gpu")
GPU = instance_type("g5.xlarge", cpu=4, memory=16, price=1.0, more={"nvidia.com/gpu": 1})


class Packer:
    """Packs, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.tries = 0

    def __call__(self, of: Problem) -> PackingPlan:
        self.tries += 1
        return pack(of)


def advised(of: Problem, effort: Effort | None = None) -> tuple[RefusedClass, ...]:
    return with_remedies(of, pack(of), pack, effort or Effort()).refused


def advice(
    spec: PodSpec, *offers: PoolOffer, rooms: tuple[Room, ...] = (), count: int = 2
) -> tuple[Change, ...]:
    (group,) = advised(problem(pods("web", count, spec), offers=offers or (offer(),), rooms=rooms))
    assert group.remedy is not None
    return group.remedy.changes


def only(spec: PodSpec, *offers: PoolOffer, rooms: tuple[Room, ...] = ()) -> tuple[ChangeKind, str]:
    (change,) = advice(spec, *offers, rooms=rooms)
    return change.kind, change.condition


# --- changes of a pod


def test_a_taint_would_have_to_be_tolerated() -> None:
    assert advice(asking(), offer(pool(taints=(TEAM,)))) == (
        Change(
            kind=ChangeKind.ADD_TOLERATION,
            object="Pod",
            path="spec.tolerations[]",
            before=None,
            after={"key": "team", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
            condition="it tolerated team=gpu:NoSchedule",
        ),
    )
    bare = offer(pool(taints=(Taint("edge", Effect.NO_EXECUTE),)))
    (change,) = advice(asking(), bare)
    assert change.after == {"key": "edge", "operator": "Exists", "effect": "NoExecute"}


def test_a_slip_of_the_pen_is_put_right_in_a_selector() -> None:
    of = offer(pool(node_labels={"example.com/team": "a"}))

    assert advice(asking(selector={"example.com/taem": "a"}), of) == (
        Change(
            kind=ChangeKind.CORRECT_REQUIREMENT,
            object="Pod",
            path="spec.nodeSelector",
            before={"example.com/taem": "a"},
            after={"example.com/team": "a"},
            condition="it asked for example.com/team=a instead of example.com/taem=a",
        ),
    )


def test_a_slip_of_the_pen_is_put_right_in_an_affinity() -> None:
    asked = expression(labels.INSTANCE_TYPE, Operator.IN, "c5.xlrage", "x9.large")

    (change,) = advice(asking(required=[(asked,)]))

    assert change.path == (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[].matchExpressions[]"
    )
    assert change.before == {
        "key": labels.INSTANCE_TYPE,
        "operator": "In",
        "values": ["c5.xlrage", "x9.large"],
    }
    assert change.after == {
        "key": labels.INSTANCE_TYPE,
        "operator": "In",
        "values": ["c5.xlarge", "x9.large"],
    }


def test_what_no_pool_offers_would_have_to_be_dropped() -> None:
    assert advice(asking(selector={"colour": "red", labels.ARCH: "amd64"})) == (
        Change(
            kind=ChangeKind.DROP_REQUIREMENT,
            object="Pod",
            path="spec.nodeSelector",
            before={"colour": "red"},
            after=None,
            condition="it did not ask for colour=red",
        ),
    )


def test_one_expression_of_several_is_dropped_from_its_term() -> None:
    term = (expression(labels.ARCH, Operator.IN, "amd64"), expression("rack", Operator.EXISTS))

    (change,) = advice(asking(required=[term]))

    assert change.path.endswith("matchExpressions[]")
    assert (change.before, change.after) == ({"key": "rack", "operator": "Exists"}, None)


def test_the_only_expression_of_an_affinity_goes_with_all_of_it() -> None:
    (change,) = advice(asking(required=[(expression("rack", Operator.EXISTS),)]))

    assert (change.path, change.after) == ("spec.affinity.nodeAffinity", None)
    assert change.before == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]
        }
    }


def test_a_contradiction_is_solved_by_dropping_either_side() -> None:
    both = [(expression(labels.ZONE, Operator.IN, "zone-b"),)]

    assert only(asking(selector={labels.ZONE: "zone-a"}, required=both)) == (
        ChangeKind.DROP_REQUIREMENT,
        "it did not ask for topology.kubernetes.io/zone=zone-a",
    )


def test_too_large_a_request_would_have_to_be_what_the_largest_type_leaves() -> None:
    (change,) = advice(asking(900))

    assert (change.kind, change.path) == (ChangeKind.LOWER_REQUEST, "spec.containers[].resources.requests")
    assert (change.before, change.after) == ({"cpu": "900"}, {"cpu": "31920m"})


def test_requests_that_no_type_holds_at_once_are_lowered_by_the_least() -> None:
    slim = instance_type("c5.8xlarge", cpu=32, memory=64, price=1.4)
    fat = instance_type("r5.2xlarge", cpu=8, memory=64 * 2, price=0.5)

    assert only(asking(30, "100Gi"), offer(types=(slim, fat))) == (
        ChangeKind.LOWER_REQUEST,
        "it asked for 64636Mi of memory instead of 100Gi",
    )


def test_a_device_of_a_wrong_name_is_renamed_where_its_limit_stands() -> None:
    devices = Resources({"nvidia.com/gpus": 1})
    spec = replace(asking(more={"nvidia.com/gpus": 1}), limits=devices)

    (change,) = advice(spec, offer(types=(GPU,)), count=1)

    assert (change.kind, change.path) == (ChangeKind.RENAME_RESOURCE, "spec.containers[].resources.limits")
    assert (change.before, change.after) == ({"nvidia.com/gpus": "1"}, {"nvidia.com/gpu": "1"})


def test_a_device_that_nobody_has_would_have_to_go() -> None:
    assert only(asking(more={"example.com/fpga": 1})) == (
        ChangeKind.DROP_REQUEST,
        "it did not ask for example.com/fpga",
    )


def test_what_ran_out_would_have_to_be_asked_for_otherwise() -> None:
    spot = [("zone-a", labels.SPOT), ("zone-b", labels.SPOT)]
    types = (instance_type("c5.large", cpu=2, memory=4, price=0.1, out_of=spot),)

    assert only(asking(selector={labels.CAPACITY_TYPE: labels.SPOT}), offer(types=types)) == (
        ChangeKind.DROP_REQUIREMENT,
        "it did not ask for karpenter.sh/capacity-type=spot",
    )
    of = pool("default", is_in(labels.CAPACITY_TYPE, labels.SPOT))
    assert only(asking(), offer(of, types)) == (
        ChangeKind.WIDEN_POOL_REQUIREMENT,
        "NodePool default allowed karpenter.sh/capacity-type=on-demand",
    )


def test_several_changes_are_put_together_where_one_is_not_enough() -> None:
    found = advice(asking(100, selector={"colour": "red"}), offer(pool(taints=(TEAM,))))

    assert [change.condition for change in found] == [
        "it tolerated team=gpu:NoSchedule",
        "it did not ask for colour=red",
        "it asked for 31920m of cpu instead of 100",
    ]


# --- changes of a pool


def test_a_limit_would_have_to_be_raised_for_all_that_wait() -> None:
    limited = replace(pool(), limits=Resources.parse({"cpu": 10, "memory": "100Gi"}))
    of = replace(offer(limited), limits_left=Resources.parse({"cpu": 2, "memory": "50Gi"}))

    (group,) = advised(problem(pods("web", 8, asking("7500m")), offers=(of,)))
    assert group.remedy is not None
    (change,) = group.remedy.changes

    assert (change.kind, change.object, change.path) == (
        ChangeKind.RAISE_LIMIT,
        "NodePool default",
        "spec.limits",
    )
    assert change.before == {"cpu": "10", "memory": "100Gi"}
    assert change.after is not None
    assert change.after["cpu"] == "72"
    assert group.remedy.for_all


def test_pools_of_the_old_api_have_their_limits_elsewhere() -> None:
    old = replace(pool(), generation=Generation.V1ALPHA5, limits=Resources.parse({"cpu": 10}))
    of = replace(offer(old), limits_left=Resources.parse({"cpu": 1}))

    (change,) = advice(asking(), of)

    assert (change.object, change.path) == ("Provisioner default", "spec.limits.resources")


def test_a_pool_is_changed_only_where_the_pod_cannot_be() -> None:
    of = offer(pool("default", is_in(labels.ARCH, "riscv")))

    assert only(asking(), of) == (
        ChangeKind.DROP_POOL_REQUIREMENT,
        "NodePool default did not require kubernetes.io/arch In [riscv]",
    )


def test_a_wish_for_choice_would_have_to_be_given_up() -> None:
    choosy = Requirement.of(labels.INSTANCE_FAMILY, Operator.IN, ("c5", "m5"), min_values=2)
    limited = replace(pool("default", choosy), limits=Resources.parse({"cpu": 1}))
    of = replace(offer(limited), limits_left=Resources.parse({"cpu": 1}))

    (group,) = advised(problem(pods("web", 1, asking(1, "100Gi")), offers=(of,)))

    assert group.refusals == (
        Refusal(
            "default",
            Reason.MIN_VALUES,
            "the pool's minValues for karpenter.k8s.aws/instance-family is 2, and what is left has 1",
            Values(labels.INSTANCE_FAMILY, "2", ("1",)),
        ),
    )
    assert group.remedy is not None
    assert [change.condition for change in group.remedy.changes] == [
        "the minValues of NodePool default for karpenter.k8s.aws/instance-family were 1 instead of 2",
        "NodePool default were allowed 32 of cpu instead of 1",
    ]


# --- what came nearest


def test_the_pool_that_comes_furthest_is_the_nearest_miss() -> None:
    first, second = offer(pool("first", taints=(TEAM,))), offer(pool("second"))

    (group,) = advised(problem(pods("web", 1, asking(50)), offers=(first, second)))

    assert group.nearest is not None
    assert (group.nearest.pool, group.nearest.reason) == ("second", Reason.TOO_LARGE)
    assert group.sentence == (
        "TooLarge: second: cpu 50 is asked for, and the largest type leaves 31920m to pods (c5.8xlarge); "
        "it would fit if it asked for 31920m of cpu instead of 50; "
        "UntoleratedTaint: first: the taint team=gpu:NoSchedule is not tolerated"
    )


def test_a_node_that_is_there_may_be_nearer_than_any_pool() -> None:
    small = room("small", {"cpu": 1, "memory": "1Gi", "pods": 3}, node_labels={"disk": "ssd"})
    other = room("other", node_labels={"disk": "hdd"})

    (group,) = advised(problem(pods("web", 1, asking(2, selector={"disk": "ssd"})), rooms=(other, small)))

    assert group.nearest is not None
    assert (group.nearest.node, group.nearest.reason) == ("small", Reason.NODE_FULL)
    assert str(group.nearest) == "node small: cpu 2 is asked for, and 1 is free"


@pytest.mark.parametrize(
    ("spec", "of", "reason"),
    [
        (asking(), room("n", taints=(TEAM,)), Reason.UNTOLERATED_TAINT),
        (asking(selector={"disk": "ssd"}), room("n"), Reason.UNDEFINED_LABEL),
        (
            asking(selector={"disk": "ssd"}),
            room("n", node_labels={"disk": "hdd"}),
            Reason.INCOMPATIBLE_REQUIREMENT,
        ),
        (asking(), room("n", {"cpu": 4, "memory": "1Gi", "pods": 0}), Reason.NODE_FULL),
        (
            asking(),
            replace(room("n"), free=Resources({"cpu": 4000, "memory": -1, "pods": 5})),
            Reason.NODE_FULL,
        ),
    ],
)
def test_nodes_say_their_first_reason_too(spec: PodSpec, of: Room, reason: Reason) -> None:
    (group,) = advised(problem(pods("web", 1, spec), offers=(), rooms=(of,)))

    assert group.nearest is not None
    assert (group.nearest.node, group.nearest.reason) == ("n", reason)


def test_what_others_were_just_promised_is_no_longer_free() -> None:
    placed, left = pods("a", 1, asking(3), age=9), pods("b", 1, asking(2))

    (group,) = advised(problem(placed, left, offers=(), rooms=(room("n"),)))

    assert group.nearest is not None
    assert group.nearest.detail == "cpu 2 is asked for, and 1 is free"
    assert group.remedy is not None
    assert group.remedy.changes[0].after == {"cpu": "1"}


def test_where_all_cannot_be_helped_one_of_them_may() -> None:
    (group,) = advised(problem(pods("web", 3, asking(5)), offers=(), rooms=(room("n"),)))

    assert group.remedy is not None
    assert not group.remedy.for_all
    assert str(group.remedy) == "one of them would fit if it asked for 4 of cpu instead of 5"


def test_nobody_is_told_to_put_up_with_a_node_that_is_not_ready() -> None:
    (group,) = advised(problem(pods("web", 1), offers=(), rooms=(room("n", taints=(NOT_READY,)),)))

    assert group.nearest is not None
    assert group.nearest.reason is Reason.UNTOLERATED_TAINT
    assert group.remedy is None


# --- what it costs


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
    rooms = tuple(room(f"n{n:02}", {"cpu": n, "memory": "9Gi", "pods": 9}) for n in range(50))
    offers = tuple(
        offer(pool(f"p{n}", is_in(labels.ZONE, "zone-c"), taints=(TEAM,) if n % 3 else ())) for n in range(9)
    )
    of = problem(pods("web", 1, asking(60)), offers=offers, rooms=rooms)
    seen: list[Problem] = []

    def packing(one: Problem) -> PackingPlan:
        seen.append(one)
        return pack(one)

    with_remedies(of, pack(of), packing, Effort(pools=2, rooms=3))

    pools = {tuple(o.pool.name for o in one.offers) for one in seen}
    assert {()} < pools <= {(), ("p0",), ("p1",)}
    assert {tuple(r.name for r in one.rooms) for one in seen} == {("n49", "n48", "n47")}


def test_advice_does_not_depend_on_the_order_of_pods() -> None:
    lots = [*pods("a", 3, asking(90)), *pods("b", 2, asking(selector={"colour": "red"}))]
    forth, back = problem(tuple(lots)), problem(tuple(reversed(lots)))

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

    (group,) = with_remedies(of, plan, broken).refused

    assert group.remedy is None
    assert group.nearest == plan.refused[0].refusals[0]
