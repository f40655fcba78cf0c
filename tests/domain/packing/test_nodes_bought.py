from __future__ import annotations

from tests.domain.packing.problems import (
    DAEMONS,
    asking,
    catalogue,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint, Toleration
from treenail.domain.packing.pack import pack

SPOT = is_in(labels.CAPACITY_TYPE, labels.SPOT)


def daemon(cpu: str = "500m", **selector: str) -> PodSpec:
    return asking(cpu, selector={key.replace("__", "/"): value for key, value in selector.items()})


def test_five_pods_get_one_node_of_any_type_that_holds_them() -> None:
    of = offer(pool("default", SPOT), limits={"cpu": 1000})

    (claim,) = (plan := pack(problem(pods("inflate", 5), offers=(of,), daemons=DAEMONS))).claims

    assert len(claim.pods) == 5
    assert claim.instance_types[:4] == ("m6g.2xlarge", "t3.2xlarge", "c5.2xlarge", "m5.2xlarge")
    assert claim.price == plan.cost == 8 * 0.0385 * 0.4


def test_a_type_whose_room_goes_to_daemons_is_left_out() -> None:
    nano = instance_type("t3.nano", cpu=2, memory=1, price=0.0052, pods=4)
    of = offer(types=(nano, *catalogue()))

    (claim,) = pack(problem(pods("web", 1, asking("100m")), offers=(of,), daemons=DAEMONS)).claims

    assert claim.instance_types[0] == "m6g.large"
    assert "t3.nano" not in claim.instance_types


def test_pods_that_ask_for_a_small_type_are_spread_over_nodes_of_it() -> None:
    spec = asking(selector={labels.INSTANCE_TYPE: "c5.xlarge"})

    plan = pack(problem(pods("inflate", 5, spec), daemons=DAEMONS))

    assert [(len(c.pods), c.instance_types) for c in plan.claims] == [
        (3, ("c5.xlarge",)),
        (2, ("c5.xlarge",)),
    ]


def test_the_oldest_pods_have_the_first_place() -> None:
    spec = asking(selector={labels.INSTANCE_TYPE: "c5.xlarge"})

    plan = pack(problem(pods("young", 2, spec), pods("old", 3, spec, age=60)))

    assert [c.pods for c in plan.claims] == [("old-0", "old-1", "old-2"), ("young-0", "young-1")]


def test_a_claim_requests_what_pods_and_daemons_request() -> None:
    spec = asking(required=[(expression(labels.INSTANCE_TYPE, Operator.IN, "t3.large"),)])

    (claim,) = pack(problem(pods("inflate", 1, spec), daemons=DAEMONS)).claims

    assert claim.requests.format() == {"cpu": "1155m", "memory": "120Mi", "pods": "5"}


def test_a_claim_says_what_its_node_must_be() -> None:
    of = pool(
        "default", is_in(labels.CAPACITY_TYPE, labels.SPOT, labels.ON_DEMAND), node_labels={"team": "a"}
    )
    types = (
        instance_type("c5.large", cpu=2, memory=4, price=0.1, out_of=[("zone-a", labels.SPOT)]),
        instance_type("c5.xlarge", cpu=4, memory=8, price=0.2, zones=["zone-b"], ways={labels.SPOT: 0.4}),
    )
    spec = asking(selector={labels.ARCH: "amd64", labels.CAPACITY_TYPE: labels.SPOT})

    (claim,) = pack(problem(pods("web", 1, spec), offers=(offer(of, types),))).claims

    assert {r.key: sorted(r.values) for r in claim.requirements.in_order()} == {
        labels.CAPACITY_TYPE: ["spot"],
        labels.NODEPOOL: ["default"],
        "karpenter.k8s.aws/ec2nodeclass": ["default"],
        labels.ARCH: ["amd64"],
        "team": ["a"],
        labels.ZONE: ["zone-b"],
    }


def test_the_types_of_a_claim_come_by_price_and_then_by_name() -> None:
    types = tuple(
        instance_type(name, cpu=2, memory=4, price=price)
        for name, price in (("b1.l", 2), ("c1.l", 1), ("a1.l", 2))
    )

    (claim,) = pack(problem(pods("web", 1), offers=(offer(types=types),))).claims

    assert claim.instance_types == ("c1.l", "a1.l", "b1.l")
    assert claim.largest == types[0].capacity


def test_only_offerings_that_are_left_count() -> None:
    cheap = instance_type(
        "c5.large", cpu=2, memory=4, price=0.1, out_of=[("zone-a", "spot"), ("zone-b", "spot")]
    )

    (claim,) = pack(problem(pods("web", 1), offers=(offer(types=(cheap,)),))).claims

    assert claim.price == 0.1


def test_the_heaviest_pool_that_can_host_wins_though_it_is_dearer() -> None:
    dear = offer(pool("dear", is_in(labels.INSTANCE_FAMILY, "r5")))
    cheap = offer(pool("cheap"))
    arm = asking(selector={labels.ARCH: "arm64"})

    plan = pack(problem(pods("web", 3, asking(2)), pods("arm", 1, arm), offers=(dear, cheap)))

    assert {claim.pool: len(claim.pods) for claim in plan.claims} == {"dear": 3, "cheap": 1}


def test_pods_go_to_a_node_of_this_batch_before_another_is_bought() -> None:
    picky = offer(pool("picky", is_in(labels.INSTANCE_TYPE, "c5.large")))
    tainted = offer(pool("tainted", taints=(Taint("own", Effect.NO_SCHEDULE),)), limits={"nodes": 1})
    big = asking(3, tolerations=[Toleration("own")])
    small = asking("100m", tolerations=[Toleration("own")])

    plan = pack(problem(pods("big", 1, big), pods("small", 1, small), offers=(tainted, picky)))

    assert [(claim.pool, claim.pods) for claim in plan.claims] == [("tainted", ("big-0", "small-0"))]


def test_daemons_take_room_only_where_they_run() -> None:
    tight = instance_type("c5.large", cpu=2, memory=4, price=0.1)
    arm = instance_type("m6g.large", cpu=2, memory=8, price=0.2, arch="arm64")
    of = offer(types=(tight, arm))

    on_amd = pack(
        problem(pods("web", 1, asking("1600m")), offers=(of,), daemons=(daemon(kubernetes_io__arch="x"),))
    )
    assert on_amd.claims[0].instance_types == ("c5.large", "m6g.large")

    spec = asking("500m", selector={labels.ARCH: "amd64"})
    on_arm = pack(problem(pods("web", 1, asking("1600m")), offers=(of,), daemons=(spec,)))
    assert on_arm.claims[0].instance_types == ("m6g.large",)
    assert on_arm.claims[0].requests["cpu"] == 1600


def test_a_daemon_runs_where_any_of_its_terms_is_met_and_whatever_it_prefers() -> None:
    terms = [
        (expression(labels.ARCH, Operator.IN, "riscv"),),
        (expression(labels.ARCH, Operator.IN, "amd64"),),
    ]
    wish = (1, (expression(labels.ARCH, Operator.IN, "riscv"),))
    spec = asking("200m", required=terms, preferred=[wish])

    (claim,) = pack(problem(pods("web", 1, asking(selector={labels.ARCH: "amd64"})), daemons=(spec,))).claims

    assert claim.requests["cpu"] == 1200


def test_taints_keep_daemons_off_unless_they_only_say_prefer() -> None:
    own, soft = Taint("own", Effect.NO_SCHEDULE), Taint("soft", Effect.PREFER_NO_SCHEDULE)
    spec = asking(tolerations=[Toleration("own"), Toleration("soft")])

    def cpu(*taints: Taint) -> int:
        (claim,) = pack(
            problem(pods("web", 1, spec), offers=(offer(pool(taints=taints)),), daemons=DAEMONS)
        ).claims
        return claim.requests["cpu"]

    assert (cpu(own), cpu(soft), cpu()) == (1000, 1155, 1155)


def test_daemons_may_ask_for_labels_nodes_only_get_in_the_end() -> None:
    specs = (asking("100m", selector={labels.INITIALIZED: "true"}), asking("200m", selector={"team": "b"}))

    (claim,) = pack(problem(pods("web", 1), daemons=specs)).claims

    assert claim.requests["cpu"] == 1100
    assert labels.INITIALIZED not in claim.requirements


def test_a_daemon_nobody_can_schedule_takes_nothing() -> None:
    broken = asking("100m", required=[(expression(labels.INSTANCE_CPU, Operator.GT, "many"),)])

    (claim,) = pack(problem(pods("web", 1), daemons=(broken,))).claims

    assert claim.requests["cpu"] == 1000


def test_a_type_that_its_daemons_overfill_is_not_used() -> None:
    names = {t.name for t in catalogue()}

    (claim,) = pack(problem(pods("web", 1, asking("10m")), daemons=(asking(3),))).claims

    assert set(claim.instance_types) == {name for name in names if not name.endswith(".large")}


def test_a_bound_on_a_label_leaves_the_types_within_it() -> None:
    spec = asking(
        required=[
            (
                expression(labels.INSTANCE_CPU, Operator.GT, "16"),
                expression(labels.ARCH, Operator.NOT_IN, "arm64"),
            )
        ]
    )

    (claim,) = pack(problem(pods("web", 1, spec))).claims

    assert claim.instance_types == ("c5.8xlarge", "m5.8xlarge", "r5.8xlarge")


def test_zone_and_capacity_type_must_be_sold_together() -> None:
    odd = instance_type("c5.large", cpu=2, memory=4, price=0.1, out_of=[("zone-a", "spot")])
    spec = asking(selector={labels.ZONE: "zone-a", labels.CAPACITY_TYPE: "spot"})

    plan = pack(problem(pods("web", 1, spec), offers=(offer(types=(odd,)),)))

    assert plan.claims == ()


def test_a_pool_that_leaves_a_label_open_serves_each_of_its_values() -> None:
    of = offer(pool("default", Requirement.of("team", Operator.IN, ["a", "b"])))

    plan = pack(
        problem(
            pods("a", 1, asking(selector={"team": "a"})),
            pods("b", 1, asking(selector={"team": "b"})),
            pods("c", 1),
            offers=(of,),
        )
    )

    assert sorted((sorted(c.requirements["team"].values), len(c.pods)) for c in plan.claims) in (
        [(["a"], 1), (["b"], 2)],
        [(["a"], 2), (["b"], 1)],
    )


def test_resources_beyond_the_usual_need_types_that_have_them() -> None:
    gpu = instance_type("g5.xlarge", cpu=4, memory=16, price=1.0, more={"nvidia.com/gpu": 2})
    of = offer(types=(*catalogue(), gpu))

    plan = pack(problem(pods("train", 3, asking(more={"nvidia.com/gpu": 1})), offers=(of,)))

    assert [(c.instance_types, len(c.pods)) for c in plan.claims] == [
        (("g5.xlarge",), 2),
        (("g5.xlarge",), 1),
    ]
    assert plan.claims[0].requests == Resources.parse({"cpu": 2, "pods": 2, "nvidia.com/gpu": 2})


def test_nothing_to_pack_is_an_empty_plan() -> None:
    assert pack(problem()).claims == ()
