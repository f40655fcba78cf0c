from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.adapters.fake.ec2.rig import A, B, C, Rig, node_class, request, spot_request
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError
from treenail.domain.model.fleets import InstanceState
from treenail.domain.model.node_classes import Kubelet, SelectorTerm
from treenail.domain.model.resources import Resources


def test_an_instance_carries_what_its_type_and_its_request_say() -> None:
    rig = Rig()

    answer = rig.ec2.launch(request("m5.large/b"))

    (instance,) = answer.instances
    assert instance.id.startswith("i-")
    assert len(instance.id) == 19
    assert (instance.instance_type, instance.zone, instance.capacity_type) == ("m5.large", B, "on-demand")
    assert instance.state is InstanceState.PENDING
    assert instance.launched_at == rig.agenda.now()
    assert instance.price == 0.096
    assert instance.image_id.startswith("ami-")
    assert instance.capacity == Resources.parse({"cpu": 2, "memory": "8Gi", "pods": 29})
    assert instance.allocatable == Resources.parse({"cpu": "1930m", "memory": "7618Mi", "pods": 29})
    assert instance.labels == {
        labels.INSTANCE_TYPE: "m5.large",
        labels.ARCH: "amd64",
        labels.ZONE: B,
        labels.CAPACITY_TYPE: labels.ON_DEMAND,
        labels.ZONE_ID: "use1-azb",
        labels.INSTANCE_TENANCY: "default",
    }
    assert instance.tags.items() >= request().tags.items()
    assert instance.tags["aws:ec2:fleet-id"] == answer.fleet_id
    assert answer.errors == ()
    (record,) = rig.ec2.all_instances()
    assert record.request == request("m5.large/b")
    assert record.price == instance.price


def test_the_same_call_again_gets_the_same_answer_and_buys_nothing() -> None:
    rig = Rig()
    first = rig.ec2.launch(request(count=2))
    rig.agenda.run(60)

    again = rig.ec2.launch(request(count=2))

    assert again == first
    assert len(rig.ec2.all_instances()) == 2


def test_a_call_that_bought_nothing_buys_nothing_when_repeated_either() -> None:
    rig = Rig()
    rig.ec2.outside.run_out("*", "*")
    first = rig.ec2.launch(request())
    rig.ec2.outside.restock()

    assert rig.ec2.launch(request()) == first
    assert rig.ec2.all_instances() == ()


@pytest.mark.parametrize("other", [request(count=2), request("c5.large/a"), spot_request("m5.large/a")])
def test_a_token_serves_no_other_request(other: object) -> None:
    rig = Rig()
    rig.ec2.launch(request())

    with pytest.raises(InvalidError, match="IdempotentParameterMismatch"):
        rig.ec2.launch(other)  # type: ignore[arg-type]

    assert len(rig.ec2.all_instances()) == 1


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (request(count=0), "from 1 to"),
        (request(count=-1), "from 1 to"),
        (request(count=10_001), "from 1 to"),
        (replace(request(), overrides=()), "no overrides"),
        (request("m5.large/a", "m5.large/a"), "duplicate"),
        (request("m5.large/a", "zz9.large/a"), "InvalidInstanceType.*zz9.large"),
        (request("m5.large/d"), "no subnet in us-east-1d"),
        (request(capacity_type="reserved"), "reserved"),
        (request(call=""), "client token"),
        (request(call="x" * 65), "client token"),
        (request(cluster="other"), "UnauthorizedOperation"),
    ],
)
def test_an_impossible_request_is_refused_as_a_whole(asked: object, why: str) -> None:
    rig = Rig()

    with pytest.raises(InvalidError, match=why):
        rig.ec2.launch(asked)  # type: ignore[arg-type]

    assert rig.ec2.all_instances() == ()


def test_a_refused_request_does_not_use_its_token_up() -> None:
    rig = Rig()
    with pytest.raises(InvalidError):
        rig.ec2.launch(request("zz9.large/a"))

    assert len(rig.ec2.launch(request()).instances) == 1


def test_on_demand_takes_the_lowest_price() -> None:
    rig = Rig()

    answer = rig.ec2.launch(request("m5.large/a", "c5.large/b", "p3.2xlarge/c", count=3))

    assert [i.instance_type for i in answer.instances] == ["c5.large"] * 3


def test_on_demand_takes_any_of_the_zones_that_cost_the_same() -> None:
    rig = Rig()

    answer = rig.ec2.launch(request("m5.large/a", "m5.large/b", "m5.large/c", count=60))

    zones = Counter(i.zone for i in answer.instances)
    assert all(zones[zone] > 5 for zone in (A, B, C))


def test_spot_prefers_cheap_pools_and_never_takes_much_dearer_ones() -> None:
    pools = tuple(f"{name}/{zone}" for name in ("c5.large", "m5.large") for zone in "abc")
    for seed in range(20):
        rig = Rig(seed=seed)
        prices = {pool: rig.ec2.spot_price(pool[:-2], f"us-east-1{pool[-1]}") or 0.0 for pool in pools}

        answer = rig.ec2.launch(spot_request(*pools, count=50))

        taken = [i.price for i in answer.instances]
        assert max(taken) <= 1.3 * min(prices.values())
        assert all(i.price == prices[f"{i.instance_type}/{i.zone[-1]}"] for i in answer.instances)


def test_spot_spreads_over_the_pools_it_may_take_from() -> None:
    spread = 0
    for seed in range(10):
        rig = Rig(seed=seed)
        answer = rig.ec2.launch(spot_request("c5.large/a", "c5.large/b", "c5.large/c", count=50))
        spread += len({i.zone for i in answer.instances}) > 1

    assert spread > 3


def test_a_type_not_sold_in_a_zone_is_an_error_of_its_override_only() -> None:
    rig = Rig()

    answer = rig.ec2.launch(request("p3.2xlarge/a", "m5.large/a"))

    assert [i.instance_type for i in answer.instances] == ["m5.large"]
    (error,) = answer.errors
    assert (error.code, error.instance_type, error.zone) == ("InvalidFleetConfiguration", "p3.2xlarge", A)
    assert "not supported in your requested Availability Zone" in error.message
    assert not error.capacity


def test_a_type_not_sold_as_spot_is_an_error_too() -> None:
    answer = Rig().ec2.launch(spot_request("p3.2xlarge/c"))

    assert answer.instances == ()
    assert [e.code for e in answer.errors] == ["InvalidFleetConfiguration"]


def test_every_architecture_gets_its_own_image() -> None:
    rig = Rig()
    arm = rig.launch_one("m6g.large/a", call="arm")
    intel = rig.launch_one("m5.large/a", call="intel")

    assert arm.image_id != intel.image_id
    assert rig.launch_one("c5.large/a", call="other").image_id == intel.image_id


def test_a_type_without_an_image_of_its_architecture_is_neither_offered_nor_launched() -> None:
    rig = Rig()
    windows = node_class(amis=(SelectorTerm(alias="windows2022@latest"),))

    answer = rig.ec2.launch(request("m6g.large/a", "m5.large/a", of=windows))

    assert [i.instance_type for i in answer.instances] == ["m5.large"]
    assert [e.code for e in answer.errors] == ["InvalidFleetConfiguration"]
    offered = [t.name for t in rig.ec2.instance_types(windows, Kubelet())]
    assert offered == ["c5.large", "m5.large", "p3.2xlarge"]


def test_a_type_not_sold_where_the_class_has_subnets_is_not_offered() -> None:
    rig = Rig()
    first_zone = node_class(subnets=(SelectorTerm(id=rig.ec2.subnets[0].id),))

    offered = [t.name for t in rig.ec2.instance_types(first_zone, Kubelet())]

    assert offered == ["c5.large", "m5.large", "m6g.large"]


def test_a_kubelet_that_cannot_be_worked_with_makes_its_class_unready() -> None:
    absurd = Kubelet(eviction_hard=(("memory.available", "much"),))

    with pytest.raises(NodeClassNotReadyError, match=r"EC2NodeClass/default: .*much"):
        Rig().ec2.launch(request(kubelet=absurd))


def test_the_same_seed_gives_the_same_instances_and_another_gives_others() -> None:
    asked = spot_request("c5.large/a", "m5.large/b", "c5.large/c", count=8)

    first, again, other = (Rig(seed=seed).ec2.launch(asked) for seed in (7, 7, 8))

    assert first == again
    assert not {i.id for i in first.instances} & {i.id for i in other.instances}


def test_the_order_of_overrides_does_not_matter() -> None:
    asked = spot_request("c5.large/a", "m5.large/b", "c5.large/c", count=8)
    turned = replace(asked, overrides=tuple(reversed(asked.overrides)))

    assert Rig(seed=3).ec2.launch(asked) == Rig(seed=3).ec2.launch(turned)
