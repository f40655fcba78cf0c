from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import ReservedCapacity
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetAnswer, FleetRequest

# Of each, one pod of 3 CPU fits a node.
RESERVED = ReservedCapacity(id="cr-0a", instance_type="m5.xlarge", zone="us-east-1b", instances=2)


def of_reserved() -> Manifest:
    made = node_class()
    made["spec"]["capacityReservationSelectorTerms"] = [{"id": "cr-0a"}, {"tags": {"team": "web"}}]
    return made


def pool(*ways: str) -> Manifest:
    return node_pool(capacity_types=ways or ("reserved", "on-demand"))


def bought(rehearsal: Rehearsal) -> Counter[tuple[str, str]]:
    live = (record.instance for record in rehearsal.ec2.live())
    return Counter((one.capacity_type, one.reservation) for one in live)


@pytest.mark.seeds(quick=3, soak=50)
def test_what_is_reserved_is_used_up_and_the_rest_is_bought_on_demand(seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        rehearsal.apply(text(of_reserved(), pool(), deployment(replicas=5, cpu="3")))

        rehearsal.run_until(lambda: rehearsal.running() == 5, within="4m")

        assert bought(rehearsal)["reserved", "cr-0a"] == 2
        assert set(bought(rehearsal)) == {("reserved", "cr-0a"), ("on-demand", "")}
        on_reserved = [n for n in rehearsal.nodes() if n.labels[labels.CAPACITY_TYPE] == "reserved"]
        assert {n.labels[labels.RESERVATION_ID] for n in on_reserved} == {"cr-0a"}
        assert {n.labels[labels.RESERVATION_TYPE] for n in on_reserved} == {"default"}
        assert told(rehearsal, "CapacityRanOut") == []
        expect_whole_traces(rehearsal)


def test_what_somebody_else_took_of_a_reservation_is_made_up_for_elsewhere_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        buy = rehearsal.ec2.launch

        def after_others(request: FleetRequest) -> FleetAnswer:
            """After it was counted, the last places are taken."""
            while rehearsal.ec2.reservations.left("cr-0a"):
                rehearsal.ec2.reservations.take("cr-0a")
            return buy(request)

        monkeypatch.setattr(rehearsal.ec2, "launch", after_others)
        rehearsal.apply(text(of_reserved(), pool(), deployment(replicas=1, cpu="3")))

        rehearsal.run_until(lambda: rehearsal.running() == 1, within="2m")

        assert bought(rehearsal) == {("on-demand", ""): 1}
        (ran_out,) = told(rehearsal, "CapacityRanOut")
        assert "cr-0a" in str(ran_out.fields)


def test_a_pool_of_reserved_capacity_alone_waits_for_what_is_given_back() -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        rehearsal.apply(text(of_reserved(), pool("reserved"), deployment(replicas=3, cpu="3")))
        rehearsal.run("3m")
        assert rehearsal.running() == 2

        rehearsal.ec2.reservations.add(
            ReservedCapacity(
                id="cr-0b", instance_type="m5.xlarge", zone="us-east-1a", instances=1, tags={"team": "web"}
            )
        )
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="6m")

        assert bought(rehearsal) == {("reserved", "cr-0a"): 2, ("reserved", "cr-0b"): 1}


def test_a_reservation_that_a_pool_does_not_admit_stays_unused() -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        rehearsal.apply(text(of_reserved(), pool("on-demand"), deployment(replicas=2, cpu="3")))

        rehearsal.run("3m")

        assert set(bought(rehearsal)) == {("on-demand", "")}


def test_a_place_that_is_given_back_is_taken_again() -> None:
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        rehearsal.apply(text(of_reserved(), pool(), deployment(replicas=2, cpu="3")))
        rehearsal.run("3m")
        rehearsal.scale("web", 0)
        rehearsal.run("5m")
        assert rehearsal.ec2.live() == ()

        rehearsal.scale("web", 2)
        rehearsal.run_until(lambda: rehearsal.running() == 2, within="3m")

        assert bought(rehearsal) == {("reserved", "cr-0a"): 2}


def test_a_node_whose_reservation_is_cancelled_goes_on_and_says_that_it_is_on_demand() -> None:
    with Rehearsal(seed=5) as rehearsal:
        rehearsal.ec2.reservations.add(RESERVED)
        rehearsal.apply(text(of_reserved(), pool(), deployment(replicas=2, cpu="3")))
        rehearsal.run("3m")
        before = sorted(node.name for node in rehearsal.nodes())

        rehearsal.ec2.reservations.cancel("cr-0a")
        rehearsal.run("5m")

        assert sorted(node.name for node in rehearsal.nodes()) == before
        borne = [node.labels for node in rehearsal.nodes()] + [c.labels for c in rehearsal.claims()]
        assert [one[labels.CAPACITY_TYPE] for one in borne] == ["on-demand"] * len(borne)
        assert not any(set(labels.OF_RESERVATIONS) & set(one) for one in borne)


def test_pods_leave_a_capacity_block_before_it_ends_its_instances() -> None:
    with Rehearsal(seed=6) as rehearsal:
        ends_at = rehearsal.world.now() + timedelta(hours=1)
        rehearsal.ec2.reservations.add(replace(RESERVED, kind="capacity-block", ends_at=ends_at))
        rehearsal.apply(text(of_reserved(), pool(), deployment(replicas=2, cpu="3")))
        rehearsal.run("10m")
        assert bought(rehearsal) == {("reserved", "cr-0a"): 2}

        # Forty minutes before the end they are told; half an hour before it the instances are ended.
        rehearsal.run("19m")

        assert rehearsal.running() == 2
        assert set(bought(rehearsal)) == {("on-demand", "")}
        gone = [record for record in rehearsal.history() if record.capacity_type == "reserved"]
        assert {record.cause for record in gone} == {"capacity_reservation_interrupted"}
