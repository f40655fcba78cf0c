from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain import labels


@pytest.mark.seeds(quick=5, soak=100)
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
        rehearsal.ec2.run_out("*", "*", labels.SPOT)
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

        rehearsal.ec2.restock()
        rehearsal.run("6m")

        assert rehearsal.running() == 3
