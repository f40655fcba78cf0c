from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.scenarios.manifests import Manifest, deployment, need, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import InstanceRecord, Subnet
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetAnswer, FleetRequest


@pytest.mark.seeds(quick=3, soak=100)
def test_capacity_that_runs_out_falls_over_to_other_types_within_the_minute(seed: int) -> None:
    gone = ("c5.xlarge", "m5.xlarge", "c5.2xlarge", "m5.2xlarge")
    with Rehearsal(seed=seed) as rehearsal:
        for name in gone:
            rehearsal.run_out(name, "*")
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))

        rehearsal.run_until(lambda: rehearsal.ec2.live() != (), within="1m")
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="2m")

        assert told(rehearsal, "CapacityRanOut") != []
        assert not {record.instance_type for record in rehearsal.history()} & set(gone)
        expect_whole_traces(rehearsal)


def test_a_zone_without_capacity_is_left_for_another() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.run_out("*", "us-east-1a")
        rehearsal.run_out("*", "us-east-1b")
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))

        rehearsal.run("3m")

        assert {record.zone for record in rehearsal.history()} == {"us-east-1c"}
        assert rehearsal.running() == 3


def test_spot_that_runs_out_falls_over_to_on_demand() -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.ec2.outside.run_out("*", "*", labels.SPOT)
        pool = node_pool(capacity_types=("spot", "on-demand"))
        rehearsal.apply(text(node_class(), pool, deployment(replicas=3)))

        rehearsal.run("3m")

        assert {record.capacity_type for record in rehearsal.history()} == {labels.ON_DEMAND}
        assert rehearsal.running() == 3


def test_a_pool_of_less_weight_serves_while_the_heavier_one_has_no_capacity() -> None:
    with Rehearsal(seed=3) as rehearsal:
        for size in ("large", "xlarge", "2xlarge", "4xlarge", "9xlarge", "12xlarge", "18xlarge", "24xlarge"):
            rehearsal.run_out(f"c5.{size}", "*")
        rehearsal.run_out("c5.metal", "*")
        first, second = node_pool("first", families=["c5"], weight=10), node_pool("second", families=["m5"])
        rehearsal.apply(text(node_class(), first, second, deployment(replicas=3)))

        rehearsal.run("3m")

        assert {record.node_pool for record in rehearsal.history()} == {"second"}
        assert rehearsal.running() == 3


def test_pods_nothing_can_be_bought_for_wait_with_a_reason_and_run_when_capacity_is_back() -> None:
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.run_out("*", "*")
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run("3m")
        warnings = {
            record.event.message
            for record in rehearsal.cluster.events()
            if record.event.reason == "FailedScheduling" and "default:" in record.event.message
        }
        assert (rehearsal.running(), rehearsal.claims(), rehearsal.history()) == (0, (), ())
        assert all("the capacity of all types that would do has run out" in text for text in warnings)
        assert warnings

        rehearsal.ec2.outside.restock()
        rehearsal.run("6m")

        assert rehearsal.running() == 3


def one_type(name: str, instance_type: str, weight: int) -> Manifest:
    """A pool of one type, sold on demand, so that each pod of 1500m gets a node of its own."""
    pool = node_pool(
        name, families=[instance_type.partition(".")[0]], weight=weight, capacity_types=["on-demand"]
    )
    pool["spec"]["template"]["spec"]["requirements"].append(
        need("node.kubernetes.io/instance-type", instance_type)
    )
    return pool


def one_size(*sizes: str) -> Manifest:
    pool = node_pool(families=["c5"], capacity_types=["on-demand"])
    needs = pool["spec"]["template"]["spec"]["requirements"]
    needs.append(need("karpenter.k8s.aws/instance-size", *sizes))
    return pool


class Till:
    """What is asked of CreateFleet, and when: put between the system and its EC2."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.requests: list[FleetRequest] = []
        self.failed: Counter[tuple[str, str, str]] = Counter()
        self.at: list[float] = []
        self._rehearsal = rehearsal
        self._launch = rehearsal.ec2.launch
        rehearsal.ec2.launch = self.launch  # type: ignore[method-assign]

    def launch(self, request: FleetRequest) -> FleetAnswer:
        answer = self._launch(request)
        self.requests.append(request)
        self.at.append(self._rehearsal.seconds)
        self.failed.update(
            {(request.capacity_type, e.instance_type, e.zone) for e in answer.errors if e.capacity}
        )
        return answer


def test_five_hundred_alike_nodes_take_a_handful_of_calls_and_all_are_named_later() -> None:
    with Rehearsal(seed=6) as rehearsal:
        till = Till(rehearsal)
        rehearsal.apply(
            text(node_class(), one_type("first", "c5.large", 10), deployment(replicas=500, cpu="1500m"))
        )

        rehearsal.run_until(lambda: len(rehearsal.ec2.live()) == 500, within="1m")
        changing = {
            api: n for api, n in rehearsal.ec2.calls.items() if not api.startswith(("Describe", "Get"))
        }
        assert sum(changing.values()) <= 12
        assert [request.count for request in till.requests] == [500]
        assert "CreateTags" not in changing

        rehearsal.run("4m")
        assert all(map(named, rehearsal.ec2.live()))
        assert rehearsal.ec2.refused == {}
        said = {(r.instance.tags["Name"], r.instance.tags[labels.NODECLAIM]) for r in rehearsal.ec2.live()}
        assert said == {(claim.node_name, claim.name) for claim in rehearsal.claims()}


def named(record: InstanceRecord) -> bool:
    return labels.NODECLAIM in record.instance.tags


def test_names_arrive_though_the_controller_dies_on_the_way() -> None:
    with Rehearsal(seed=7) as rehearsal:
        rehearsal.apply(
            text(node_class(), one_type("first", "c5.large", 10), deployment(replicas=60, cpu="1500m"))
        )
        rehearsal.run_until(lambda: any(map(named, rehearsal.ec2.live())), within="3m")
        assert not all(map(named, rehearsal.ec2.live()))

        rehearsal.crash()
        rehearsal.restart(after=5.0)

        rehearsal.run_until(lambda: all(map(named, rehearsal.ec2.live())), within="3m")


def test_when_the_heavy_pool_runs_out_half_way_the_rest_land_on_the_light_one_within_seconds() -> None:
    with Rehearsal(seed=8) as rehearsal:
        till = Till(rehearsal)
        for zone, most in (("us-east-1a", 200), ("us-east-1b", 200), ("us-east-1c", 100)):
            rehearsal.ec2.outside.limit("c5.large", zone, "on-demand", most=most)
        heavy, light = one_type("heavy", "c5.large", 100), one_type("light", "m5.large", 10)
        rehearsal.apply(text(node_class(), heavy, light, deployment(replicas=1000, cpu="1500m")))

        rehearsal.run_until(lambda: len(rehearsal.ec2.live()) == 1000, within="2m")

        launched = sorted(record.instance.launched_at for record in rehearsal.ec2.live())
        extra = (launched[949] - launched[499]).total_seconds()
        assert extra < 5
        assert Counter(r.instance.instance_type for r in rehearsal.ec2.live()) == {
            "c5.large": 500,
            "m5.large": 500,
        }
        rehearsal.run("30s")
        assert set(till.failed) == {("on-demand", "c5.large", f"us-east-1{zone}") for zone in "abc"}
        assert max(till.failed.values()) <= 3


def test_where_nothing_is_left_at_all_attempts_are_further_and_further_apart() -> None:
    with Rehearsal(seed=9) as rehearsal:
        till = Till(rehearsal)
        rehearsal.run_out("*", "*")
        pool = node_pool(capacity_types=["spot", "on-demand"])
        rehearsal.apply(text(node_class(), pool, deployment(replicas=3)))

        rehearsal.run("15m")

        assert len(till.at) <= 30
        assert max(till.failed.values()) <= 5  # once in every three minutes
        last = till.at[-3:]
        assert all(b - a > 20 for a, b in pairwise(last))


def test_a_subnet_that_is_full_leaves_the_others_of_its_zone_in_use() -> None:
    in_two_subnets = node_class()
    in_two_subnets["spec"]["subnetSelectorTerms"] = [{"id": "subnet-01"}, {"id": "subnet-02"}]
    with Rehearsal(seed=5) as rehearsal:
        for number in (1, 2):
            block = f"10.0.{number}.0/29"
            rehearsal.ec2.add_subnet(Subnet(id=f"subnet-0{number}", zone="us-east-1a", cidr=block))
        pool = one_type("default", "m5.xlarge", 1)
        rehearsal.apply(text(in_two_subnets, pool, deployment(replicas=5, cpu="3")))

        rehearsal.run_until(lambda: rehearsal.running() == 5, within="2m")

        by_subnet = Counter(record.instance.subnet_id for record in rehearsal.ec2.live())
        assert sorted(by_subnet.values()) == [2, 3]
        assert told(rehearsal, "CapacityRanOut") == []


def test_a_zone_whose_only_subnet_is_full_is_not_tried_with_another_type() -> None:
    in_two_zones = node_class()
    in_two_zones["spec"]["subnetSelectorTerms"] = [{"id": "subnet-01"}, {"id": "subnet-02"}]
    with Rehearsal(seed=5) as rehearsal:
        for number, zone, size in ((1, "us-east-1a", 29), (2, "us-east-1b", 24)):
            block = f"10.0.{number}.0/{size}"
            rehearsal.ec2.add_subnet(Subnet(id=f"subnet-0{number}", zone=zone, cidr=block))
        till, pinned = Till(rehearsal), {"topology.kubernetes.io/zone": "us-east-1a"}
        first = deployment(replicas=9, cpu="3", node_selector=pinned)
        rehearsal.apply(text(in_two_zones, one_size("xlarge", "2xlarge"), first))
        rehearsal.run("1m")
        assert len(rehearsal.ec2.live()) == 3
        tried = len(till.at)

        rehearsal.apply(text(deployment("larger", replicas=1, cpu="7", node_selector=pinned)))
        rehearsal.run("1m")
        assert len(till.at) == tried
        rehearsal.apply(text(deployment("free", replicas=1, cpu="7")))

        rehearsal.run_until(lambda: rehearsal.running() == 7, within="2m")
