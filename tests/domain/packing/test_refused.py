from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Never

import pytest

from tests.domain.packing.problems import (
    ZONES,
    asking,
    existing_node,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.pods import (
    LabelSelector,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint, Toleration
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values


def refusals(spec: PodSpec, *offers: PoolOffer) -> tuple[Refusal, ...]:
    (refused,) = pack(problem(pods("web", 2, spec), offers=offers or (offer(),))).refused
    assert refused.pods == ("web-0", "web-1")
    return refused.refusals


def refusal(spec: PodSpec, of: PoolOffer | None = None) -> tuple[Reason, str]:
    (only,) = refusals(spec, *(() if of is None else (of,)))
    return only.reason, only.detail


def test_every_pool_says_its_own_first_reason() -> None:
    team = Taint("team", Effect.NO_SCHEDULE, "gpu")
    first, second = offer(pool("first", taints=(team,))), offer(pool("second"))

    assert refusals(asking(50), first, second) == (
        Refusal(
            "first",
            Reason.UNTOLERATED_TAINT,
            "the taint team=gpu:NoSchedule is not tolerated",
            Values("team=gpu:NoSchedule", "", ("team=gpu:NoSchedule",)),
        ),
        Refusal(
            "second",
            Reason.TOO_LARGE,
            "cpu 50 is asked for, and the largest type leaves 31920m to pods (c5.8xlarge)",
            Values("cpu", "50", ("31920m",), "c5.8xlarge"),
        ),
    )


def test_without_a_pool_that_is_the_reason() -> None:
    (refused,) = pack(problem(pods("web", 1), offers=())).refused

    assert [r.reason for r in refused.refusals] == [Reason.NO_POOLS]


def test_a_label_the_pool_does_not_define() -> None:
    of = offer(pool(node_labels={"eks-team": "a"}))

    assert refusal(asking(selector={"eks-taem": "a"}), of) == (
        Reason.UNDEFINED_LABEL,
        "eks-taem In ['a'] is asked for, and the pool does not define that label (did you mean eks-team?)",
    )
    assert (
        "did you mean topology.kubernetes.io/zone?"
        in refusal(asking(selector={"topology.kubernetes.io/zones": "a"}))[1]
    )
    assert "did you mean" not in refusal(asking(selector={"colour": "a"}), of)[1]


@pytest.mark.parametrize(
    ("generation", "other"),
    [(Generation.V1, labels.PROVISIONER), (Generation.V1ALPHA5, labels.NODEPOOL)],
)
def test_no_node_has_the_pool_label_of_the_other_generation(generation: Generation, other: str) -> None:
    of = offer(replace(pool(), generation=generation))

    reason, detail = refusal(asking(selector={other: "default"}), of)

    assert reason is Reason.UNDEFINED_LABEL
    assert detail.startswith(f"{other} In ['default'] is asked for, and the pool does not define that label")


def test_a_value_the_pool_does_not_have() -> None:
    of = offer(pool("default", is_in(labels.ZONE, "zone-a")))

    assert refusal(asking(selector={labels.ZONE: "zone-aa"}), of) == (
        Reason.INCOMPATIBLE_REQUIREMENT,
        (
            "topology.kubernetes.io/zone In ['zone-aa'] is asked for, "
            "and the pool has topology.kubernetes.io/zone In ['zone-a'] (did you mean zone-a?)"
        ),
    )


def test_a_toleration_of_another_value_is_named_beside_the_taint() -> None:
    of = offer(pool(taints=(Taint("team", Effect.NO_SCHEDULE, "gpu"),)))
    slip = Toleration("team", value="gpus", effect=Effect.NO_SCHEDULE)

    (only,) = refusals(asking(tolerations=[slip]), of)

    assert only.detail == "the taint team=gpu:NoSchedule is not tolerated (team=gpus is)"
    assert only.values == Values("team=gpu:NoSchedule", "team=gpus", ("team=gpu:NoSchedule",), "team=gpus")


@pytest.mark.parametrize(
    ("key", "asked", "offered", "reason"),
    [
        (labels.ARCH, "arm64", "amd64", Reason.ARCHITECTURE_MISMATCH),
        (labels.OS, "windows", "linux", Reason.OPERATING_SYSTEM_MISMATCH),
        (labels.WINDOWS_BUILD, "10.0.20348", "10.0.17763", Reason.WINDOWS_BUILD_MISMATCH),
    ],
)
def test_what_an_image_can_run_on_is_a_reason_of_its_own(
    key: str, asked: str, offered: str, reason: Reason
) -> None:
    (only,) = refusals(asking(selector={key: asked}), offer(pool("default", is_in(key, offered))))

    assert only.reason is reason
    assert only.values == Values(key, f"{key} In ['{asked}']", (offered,))


def test_a_type_of_another_architecture_is_told_from_a_combination_that_is_not_made() -> None:
    types = tuple(t for t in offer().instance_types if t.label(labels.ARCH) == "amd64")

    assert refusal(asking(selector={labels.ARCH: "arm64"}), offer(types=types))[0] is (
        Reason.ARCHITECTURE_MISMATCH
    )


def test_a_value_that_other_types_have_is_no_slip_of_the_pen() -> None:
    of = offer(pool("default", is_in(labels.ZONE, "zone-a")))

    assert "did you mean" not in refusal(asking(selector={labels.ZONE: "zone-b"}), of)[1]


def test_a_node_to_be_bought_cannot_be_asked_for_by_name() -> None:
    assert refusal(asking(selector={labels.HOSTNAME: "node-7"})) == (
        Reason.HOSTNAME_REQUIRED,
        "kubernetes.io/hostname In ['node-7'] is asked for, and a node still to be bought has no name yet",
    )


def test_a_pod_that_contradicts_itself() -> None:
    both = [(expression(labels.ZONE, Operator.IN, "zone-b"),)]

    (only,) = refusals(asking(selector={labels.ZONE: "zone-a"}, required=both))

    assert (only.pool, only.reason) == ("", Reason.CONTRADICTORY_REQUIREMENTS)


def test_a_resource_that_no_type_has() -> None:
    gpu = instance_type("g5.xlarge", cpu=4, memory=16, price=1.0, more={"nvidia.com/gpu": 1})

    assert refusal(asking(more={"nvidia.com/gpus": 1}), offer(types=(gpu,))) == (
        Reason.UNKNOWN_RESOURCE,
        "no instance type has any nvidia.com/gpus (did you mean nvidia.com/gpu?)",
    )
    assert refusal(asking(more={"example.com/fpga": 1}))[1] == "no instance type has any example.com/fpga"


def test_a_resource_that_daemons_alone_ask_for() -> None:
    def said(daemon: Mapping[str, int]) -> tuple[Reason, str]:
        (group,) = pack(problem(pods("web", 1), daemons=(asking(more=daemon),))).refused
        (only,) = group.refusals
        return only.reason, only.detail

    assert said({"nvidia.com/gpu": 1}) == (
        Reason.UNKNOWN_RESOURCE,
        "a daemon that would run on a new node asks for nvidia.com/gpu, of which no instance type has any",
    )
    assert said({"memory": 2**40}) == (
        Reason.TOO_LARGE,
        "the daemons of a new node ask for more memory than the largest type has",
    )


def test_a_limit_says_what_is_left_and_what_the_smallest_type_has() -> None:
    (only,) = refusals(asking(3), offer(limits={"cpu": 2, "memory": "64Gi"}))

    assert only == Refusal(
        "default",
        Reason.LIMIT_REACHED,
        "2 of cpu is left of the limit, and the smallest type that would do has 4 (c5.xlarge)",
        Values("cpu", "4", ("2",), "c5.xlarge"),
    )


def test_of_a_limit_that_is_used_up_the_smallest_type_is_the_measure() -> None:
    large, small = (instance_type(f"c5.{n}large", cpu=n, memory=4 * n, price=n) for n in (8, 2))

    (only,) = refusals(asking(1), offer(types=(large, small), limits={"cpu": 0}))

    assert only.values == Values("cpu", "2", ("0",), "c5.2large")


def test_no_type_with_such_a_label() -> None:
    assert refusal(asking(selector={labels.INSTANCE_TYPE: "c5.xlrage"})) == (
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (
            "no instance type that is left has node.kubernetes.io/instance-type In ['c5.xlrage'] "
            "(did you mean c5.xlarge?)"
        ),
    )


def test_labels_no_type_has_together() -> None:
    reason, detail = refusal(asking(selector={labels.ARCH: "arm64", labels.INSTANCE_FAMILY: "c5"}))

    assert reason is Reason.NO_INSTANCE_TYPE_MATCHES
    assert "kubernetes.io/arch In ['arm64']" in detail


def test_a_label_types_must_have_and_do_not() -> None:
    gpu = labels.AWS + "instance-gpu-name"
    of = instance_type("c5.large", cpu=2, memory=4, price=0.1)
    absent = expression(gpu, Operator.DOES_NOT_EXIST).requirement()
    bare = replace(of, requirements=of.requirements.with_((absent,)))
    spec = asking(required=[(expression(gpu, Operator.EXISTS), expression(gpu, Operator.NOT_IN, "t4"))])

    assert refusal(spec, offer(types=(bare,)))[0] is Reason.NO_INSTANCE_TYPE_MATCHES


def test_a_pool_whose_own_requirements_leave_no_type() -> None:
    expected = (Reason.NO_INSTANCE_TYPE_MATCHES, "no instance type meets the pool's own requirements")

    assert refusal(asking(), offer(pool("default", is_in(labels.ARCH, "riscv")))) == expected
    assert refusal(asking(), offer(types=())) == expected


def test_more_than_the_largest_type_has() -> None:
    gpu = instance_type("g5.xlarge", cpu=4, memory=16, price=1.0, more={"nvidia.com/gpu": 1})

    assert refusal(asking(more={"nvidia.com/gpu": 2}), offer(types=(gpu,))) == (
        Reason.TOO_LARGE,
        "nvidia.com/gpu 2 is asked for, and the largest type leaves 1 to pods (g5.xlarge)",
    )
    assert refusal(asking("9000000000000000", "7Ei"))[0] is Reason.TOO_LARGE


def test_a_type_that_ran_out_is_no_measure_for_what_would_fit() -> None:
    out = [(zone, way) for zone in ZONES for way in (labels.SPOT, labels.ON_DEMAND)]
    small = instance_type("c5.large", cpu=2, memory=4, price=0.1)
    large = instance_type("c5.xlarge", cpu=4, memory=8, price=0.2, out_of=out)

    assert refusal(asking(9), offer(types=(small, large)))[1].endswith("leaves 1920m to pods (c5.large)")
    assert refusal(asking(3), offer(types=(small, large)))[0] is Reason.NO_CAPACITY
    assert refusal(asking(9), offer(types=(large,)))[1].endswith("leaves 3920m to pods (c5.xlarge)")


def test_more_than_any_type_has_at_once() -> None:
    assert refusal(asking(30, "200Gi", selector={labels.INSTANCE_FAMILY: "c5"}))[0] is Reason.TOO_LARGE
    slim = instance_type("c5.8xlarge", cpu=32, memory=64, price=1.4)
    fat = instance_type("r5.2xlarge", cpu=8, memory=64 * 2, price=0.5)

    assert refusal(asking(30, "100Gi"), offer(types=(slim, fat))) == (
        Reason.TOO_LARGE,
        (
            "none of 2 types holds all that is asked for at once: cpu 30, memory 100Gi, pods 1; "
            "the one that comes nearest leaves 64636Mi of memory to pods (c5.8xlarge)"
        ),
    )


def test_capacity_that_ran_out() -> None:
    spot = [("zone-a", labels.SPOT), ("zone-b", labels.SPOT)]
    types = tuple(instance_type(f"c5.{i}", cpu=2, memory=4, price=0.1, out_of=spot) for i in range(5))

    assert refusal(asking(selector={labels.CAPACITY_TYPE: labels.SPOT}), offer(types=types)) == (
        Reason.NO_CAPACITY,
        "the capacity of all types that would do has run out: c5.0, c5.1, c5.2 and 2 more",
    )


def test_places_where_a_type_is_not_sold() -> None:
    odd = instance_type("c5.large", cpu=2, memory=4, price=0.1)
    odd = replace(odd, offerings=(odd.offerings[0], odd.offerings[3]))
    spec = asking(selector={labels.ZONE: "zone-a", labels.CAPACITY_TYPE: labels.SPOT})

    assert refusal(spec, offer(types=(odd,))) == (
        Reason.NOT_SOLD,
        (
            "no type that would do is sold with topology.kubernetes.io/zone In ['zone-a'] "
            "and karpenter.sh/capacity-type In ['spot']: c5.large"
        ),
    )


def test_of_several_alternatives_the_one_that_came_furthest_is_explained() -> None:
    far = (expression(labels.ARCH, Operator.IN, "amd64"),)
    near = (expression("rack", Operator.IN, "7"),)

    assert refusal(asking(90, required=[near, far, near]))[0] is Reason.TOO_LARGE


def test_wishes_are_no_reason() -> None:
    wish = (1, (expression("rack", Operator.IN, "7"),))

    assert refusal(asking(90, preferred=[wish]))[0] is Reason.TOO_LARGE


def test_a_soft_taint_is_no_reason() -> None:
    soft = Taint("soft", Effect.PREFER_NO_SCHEDULE)

    assert (
        refusal(asking(90, tolerations=[Toleration("x")]), offer(pool(taints=(soft,))))[0] is Reason.TOO_LARGE
    )


def test_a_resource_claim_is_refused_by_name() -> None:
    assert refusal(replace(asking(), resource_claims=(PodResourceClaim("gpu", "shared"),))) == (
        Reason.RESOURCE_CLAIM,
        "it has the resource claim gpu: nodes are not chosen by such claims",
    )


@pytest.mark.parametrize(
    "more",
    [
        {"spread": (TopologySpread(labels.ZONE, 1, hard=False),)},
        {"pod_affinity": (PodAffinityTerm(labels.HOSTNAME, LabelSelector(), anti=True, weight=5),)},
    ],
)
def test_soft_constraints_do_not_hold_pods_up(more: dict[str, object]) -> None:
    spec = PodSpec(requests=Resources.parse({"cpu": 1, "pods": 1}), **more)  # type: ignore[arg-type]

    assert len(pack(problem(pods("web", 1, spec))).claims) == 1


def test_a_class_that_cannot_be_read_is_set_aside_and_the_rest_goes_on() -> None:
    broken = asking(required=[(expression(labels.INSTANCE_CPU, Operator.GT, "many"),)])
    negative = PodSpec(requests=Resources({"cpu": -5}))

    plan = pack(problem(pods("broken", 2, broken), pods("negative", 1, negative), pods("web", 1)))

    assert [claim.pods for claim in plan.claims] == [("web-0",)]
    assert [(r.pods, r.refusals[0].reason) for r in plan.refused] == [
        (("broken-0", "broken-1"), Reason.SET_ASIDE),
        (("negative-0",), Reason.SET_ASIDE),
    ]
    assert "Gt needs exactly one integer" in plan.refused[0].refusals[0].detail


def test_a_class_that_fails_while_it_is_placed_is_set_aside_too() -> None:
    class Unreadable(dict[str, str]):
        def get(self, key: str, default: object = None, /) -> Never:
            raise ValueError(f"{key} cannot be read, not even as {default}")

    odd = replace(existing_node("a"), labels=Unreadable())

    plan = pack(
        problem(pods("picky", 1, asking(selector={"rack": "1"})), pods("web", 1), existing_nodes=(odd,))
    )

    assert [(r.pods, r.refusals[0].reason) for r in plan.refused] == [(("picky-0",), Reason.SET_ASIDE)]
    assert "rack cannot be read" in plan.refused[0].refusals[0].detail
    assert plan.nominations == {"web-0": "a"}


@pytest.mark.parametrize("pools", [("plain", "own"), ("own", "plain")])
def test_a_class_that_fails_beside_others_leaves_no_trace_among_them(pools: tuple[str, ...]) -> None:
    class Touchy(Toleration):
        def tolerates(self, taint: Taint) -> bool:
            raise ValueError(f"{taint} cannot be compared")

    offers = {
        "plain": offer(pool("plain", is_in(labels.ARCH, "amd64"))),
        "own": offer(pool("own", is_in(labels.ARCH, "arm64"), taints=(Taint("own", Effect.NO_SCHEDULE),))),
    }
    first = asking(2, selector={labels.ARCH: "arm64"}, tolerations=[Toleration("own")])

    plan = pack(
        problem(
            pods("first", 1, first),
            pods("touchy", 2, asking(tolerations=[Touchy()])),
            offers=tuple(offers[name] for name in pools),
        )
    )

    assert [claim.pods for claim in plan.claims] == [("first-0",)]
    assert [(r.pods, r.refusals[0].reason) for r in plan.refused] == [
        (("touchy-0", "touchy-1"), Reason.SET_ASIDE)
    ]
