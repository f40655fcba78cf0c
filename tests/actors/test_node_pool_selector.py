from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.selecting import CLASS, LARGE, Selecting
from tests.builders import DEFAULT_CLASS, at, decision, node_class, node_pool, resources
from treenail.domain.cluster.planning import Consolidation, PackRequested
from treenail.domain.cluster.refused_pods import MoreToBuy
from treenail.domain.launch.launching import CapacityRanOut, LaunchFailed
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.errors import NodeClassNotReadyError, PortError, UnavailableError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, BlockDevice, Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.observed_capacity import MemoryObserved
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.zonal_shifts import ZonesShifted
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.refusal_reasons import Reason, Refusal
from treenail.domain.scheduling.nothing_to_buy import NothingToBuy
from treenail.domain.status.readiness import NodeClassChecked, NodeClassesWanted

NO_CLASS = replace(node_class(), ref=replace(node_class().ref, name=""))


def available(offer: PoolOffer) -> list[tuple[str, str]]:
    return [(o.capacity_type, o.zone) for t in offer.instance_types for o in t.offerings if o.available]


def test_pools_are_passed_on_in_the_order_of_the_snapshot_with_what_they_can_buy() -> None:
    stage = Selecting()

    stage.take(node_pool("heavy"), node_pool("limited"))

    request = stage.only()
    assert [(o.pool.name, o.instance_types, o.limits_left) for o in request.offers] == [
        ("heavy", (LARGE,), None),
        ("limited", (LARGE,), resources(cpu=3)),
    ]
    assert (request.decision, request.not_ready) == (decision(), ())


def test_nothing_is_passed_on_before_all_catalogues_are_read() -> None:
    stage = Selecting()

    stage.take(seconds=0.15)
    assert stage.requests() == []
    stage.run(0.1)

    assert stage.only().selected_at == at(0.2)


def test_a_catalogue_is_read_once_for_all_pools_and_kept_for_five_minutes() -> None:
    stage = Selecting()

    stage.take(node_pool("a"), node_pool("b"))
    stage.take(seconds=290)
    assert stage.read() == 1
    stage.take()
    assert stage.read() == 1
    stage.run(10)
    stage.take()

    assert stage.read() == 2
    assert len(stage.requests()) == 4


@pytest.mark.parametrize(
    ("pool", "of_class"),
    [
        pytest.param(node_pool(), node_class(version=2), id="another revision of the class"),
        pytest.param(
            replace(node_pool(), kubelet=Kubelet(max_pods=9)), node_class(), id="other kubelet settings"
        ),
    ],
)
def test_what_changes_the_sizes_of_nodes_is_read_anew(pool: NodePool, of_class: NodeClass) -> None:
    stage = Selecting()
    stage.take()

    stage.take(pool, of_class=of_class)

    assert stage.read() == 2


def test_a_newer_snapshot_takes_the_place_of_one_that_waits() -> None:
    stage = Selecting()

    stage.take(node_pool("a"), seconds=0.05)
    stage.take(node_pool("b"))

    assert [o.pool.name for o in stage.only().offers] == ["b"]
    assert stage.read() == 1


def test_what_ran_out_is_not_offered_for_three_minutes() -> None:
    stage = Selecting()
    gone = (labels.SPOT, "m5.large", "a")

    stage.selector.tell(CapacityRanOut(offerings=(gone,)))
    stage.take()
    assert available(stage.only().offers[0]) == [("on-demand", "a"), ("on-demand", "b"), ("spot", "b")]
    stage.run(178)
    stage.take(seconds=0)
    assert len(available(stage.only().offers[0])) == 3
    stage.run(1)
    stage.take()

    assert len(available(stage.only().offers[0])) == 4


def test_what_would_be_offered_ordinarily_is_passed_on_where_something_ran_out() -> None:
    stage = Selecting()
    stage.take()
    assert stage.only().ordinary_offers == ()

    stage.selector.tell(CapacityRanOut(offerings=((labels.SPOT, "m5.large", "a"),)))
    stage.take()
    request = stage.only()
    assert len(available(request.offers[0])) == 3
    assert request.ordinary_offers == (replace(request.offers[0], instance_types=(LARGE,)),)
    stage.run(180)
    stage.take()

    assert stage.only().ordinary_offers == ()


def test_a_zone_that_is_shifted_away_from_is_not_offered_ordinarily_either() -> None:
    stage = Selecting()
    placed = tuple(replace(one, zone_id=one.zone) for one in LARGE.offerings)
    stage.cloud.types = (replace(LARGE, offerings=placed),)

    stage.selector.tell(ZonesShifted(zone_ids=frozenset({"b"})))
    stage.take()
    assert stage.only().ordinary_offers == ()
    stage.selector.tell(CapacityRanOut(offerings=((labels.SPOT, "m5.large", "a"),)))
    stage.take()

    request = stage.only()
    assert available(request.offers[0]) == [("on-demand", "a")]
    assert available(request.ordinary_offers[0]) == [("on-demand", "a"), ("spot", "a")]


def test_claims_on_their_way_hold_less_of_a_limit_ordinarily_where_there_is_a_lighter_pool() -> None:
    stage = Selecting()

    heavy, held = replace(node_pool("limited"), weight=1), {"limited": resources(cpu=7)}

    stage.take(heavy, node_pool(), limits_at_most=held)
    request = stage.only()
    assert [o.limits_left for o in request.offers] == [resources(cpu=3), None]
    assert [o.limits_left for o in request.ordinary_offers] == [resources(cpu=7), None]
    stage.take(heavy, limits_at_most=held)

    assert stage.only().ordinary_offers == ()


def test_a_zone_whose_subnets_are_full_is_closed_for_all_types_of_that_class() -> None:
    stage = Selecting()
    stage.cloud.types = (LARGE, replace(LARGE, name="c5.large"))
    own = node_pool().node_class
    other = replace(own, name="other")

    stage.selector.tell(CapacityRanOut(offerings=(), full_zones=((own, "a"), (other, "b"))))
    stage.take()
    assert available(stage.only().offers[0]) == [("on-demand", "b"), ("spot", "b")] * 2
    stage.run(180)
    stage.take()

    assert len(available(stage.only().offers[0])) == 8


def test_what_ran_out_is_not_offered_to_consolidation_for_ten_minutes() -> None:
    stage = Selecting()
    stage.selector.tell(CapacityRanOut(offerings=((labels.SPOT, "m5.large", "a"),)))

    stage.run(300)
    stage.take()
    assert len(available(stage.only().offers[0])) == 4
    stage.take(consolidation=Consolidation(candidates=()))
    assert len(available(stage.only().offers[0])) == 3
    stage.run(300)
    stage.take(consolidation=Consolidation(candidates=()))

    assert len(available(stage.only().offers[0])) == 4


def test_what_may_be_bought_again_is_told_each_time_when_the_three_minutes_are_over() -> None:
    stage = Selecting()
    for seconds in (0, 60):
        stage.send(seconds, stage.selector, CapacityRanOut(offerings=((labels.SPOT, f"m{seconds}", "a"),)))

    stage.run(179)
    assert stage.cluster.received == []
    stage.run(2)
    assert stage.cluster.received == [MoreToBuy(again=True)]
    stage.run(60)

    assert stage.cluster.received == 2 * [MoreToBuy(again=True)]


def test_it_is_told_where_other_types_are_sold_than_before_and_not_where_prices_change() -> None:
    stage = Selecting()
    asking = NodeClassesWanted(wanted=((node_class(), DEFAULT_KUBELET),))

    def read(*types: InstanceType) -> int:
        stage.cloud.types = types
        stage.selector.tell(asking)
        stage.run(1)
        return len(stage.cluster.of(MoreToBuy))

    cheaper = replace(LARGE, offerings=tuple(replace(one, price=0.01) for one in LARGE.offerings))
    assert read(LARGE) == 0
    assert read(cheaper) == 0
    assert read(cheaper, replace(LARGE, name="m5.xlarge")) == 1


def test_it_is_told_when_a_node_class_can_be_bought_from_again() -> None:
    stage = Selecting()
    stage.cloud.troubles.fail("instance_types", NodeClassNotReadyError("no subnet"))
    stage.take()
    assert stage.cluster.received == []

    stage.run(20)
    stage.take()

    assert stage.cluster.received == [MoreToBuy(again=False)]


def test_what_runs_out_while_a_snapshot_waits_is_not_offered() -> None:
    stage = Selecting()
    stage.take(seconds=0.05)

    stage.selector.tell(CapacityRanOut(offerings=((labels.SPOT, "m5.large", "a"),)))
    stage.run(1)

    assert len(available(stage.only().offers[0])) == 3


@pytest.mark.parametrize(
    ("pool", "of_class", "why"),
    [
        pytest.param(
            replace(node_pool(), deleting=True), None, "the pool is being deleted", id="a pool that goes"
        ),
        pytest.param(
            node_pool(), NO_CLASS, f"its node class {CLASS} is missing", id="a class that is not there"
        ),
        pytest.param(
            node_pool(),
            replace(node_class(), deleting=True),
            f"its node class {CLASS} is being deleted",
            id="a class that goes",
        ),
    ],
)
def test_a_pool_that_cannot_buy_says_why(pool: NodePool, of_class: NodeClass | None, why: str) -> None:
    stage = Selecting()

    stage.take(pool, of_class=of_class)

    request = stage.only()
    assert request.offers == ()
    assert request.not_ready == (Refusal("default", Reason.POOL_NOT_READY, why),)
    assert stage.read() == 0


@pytest.mark.parametrize("error", [NodeClassNotReadyError("no subnets"), UnavailableError("no answer")])
def test_a_class_whose_catalogue_cannot_be_read_is_tried_again_after_ten_seconds(error: Any) -> None:
    stage = Selecting()
    stage.cloud.troubles.fail("instance_types", error)

    stage.take()
    assert stage.only().not_ready == (Refusal("default", Reason.POOL_NOT_READY, str(error)),)
    stage.take(seconds=7)
    assert stage.only().offers == ()
    stage.run(3)
    stage.take()

    assert stage.only().not_ready == ()
    assert stage.read() == 2


def test_the_last_catalogue_serves_while_ec2_does_not_answer_and_is_asked_for_every_ten_seconds() -> None:
    stage = Selecting()
    stage.take()
    first = stage.only().offers
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"), times=3)

    stage.run(300)
    for asked in (2, 2, 2, 3, 3, 3, 4):
        stage.take(seconds=5)
        assert (stage.only().offers, stage.read()) == (first, asked)
    stage.run(10)
    stage.take()
    assert stage.read() == 5
    stage.run(290)
    stage.take()

    assert stage.read() == 5


@pytest.mark.parametrize(
    ("of_class", "offers"),
    [
        (replace(node_class(), resource_version=7), 1),
        (replace(node_class(), resource_version=7, generation=2, role="other"), 0),
    ],
)
def test_the_last_catalogue_serves_for_a_class_whose_status_is_new_and_not_for_one_that_is_another(
    of_class: NodeClass, offers: int
) -> None:
    stage = Selecting()
    stage.take()
    stage.requests()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"))

    stage.take(of_class=of_class)

    request = stage.only()
    assert len(request.offers) == offers
    assert request.unanswered == (() if offers else ("default",))


def test_a_catalogue_that_was_wrong_about_a_node_serves_no_more() -> None:
    stage = Selecting()
    stage.take()
    stage.requests()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"))

    stage.selector.tell(MemoryObserved(instance_type=LARGE.name, image_id="ami-1", memory=1))
    stage.take()

    assert stage.only().offers == ()


def test_a_class_that_cannot_be_launched_from_is_left_alone_for_five_seconds() -> None:
    stage = Selecting()
    stage.take()
    stage.requests()

    stage.selector.tell(LaunchFailed(node_class=node_class().ref, why="not yours"))
    stage.take(seconds=3)
    assert stage.only().not_ready == (Refusal("default", Reason.POOL_NOT_READY, "not yours"),)
    stage.run(2)
    stage.take()

    assert stage.only().not_ready == ()


WANTED = NodeClassesWanted(wanted=((node_class(), DEFAULT_KUBELET),))


def test_a_decision_is_told_what_delayed_its_catalogues_and_a_consolidation_pass_takes_nothing_of_it() -> (
    None
):
    stage = Selecting()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"))

    stage.take()
    assert [one.why for one in stage.only().delays] == ["no answer"]
    stage.take(seconds=11)
    stage.packer.received.clear()
    stage.take(consolidation=Consolidation(candidates=()))
    assert stage.only().delays == ()
    stage.take()

    assert [one.cause.value for one in stage.only().delays] == ["no_answer"]


KEY = CatalogueKey(DEFAULT_CLASS, 1, DEFAULT_KUBELET)


def test_the_reporter_is_told_what_the_cloud_says_of_a_node_class() -> None:
    stage = Selecting()
    nothing = NodeClassNotReadyError("no subnets", selector="subnets")
    stage.cloud.troubles.fail("instance_types", nothing)
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"))

    for _ in range(3):
        stage.selector.tell(WANTED)
        stage.run(1)

    assert stage.reporter.received == [
        NodeClassChecked(key=KEY, problem="no subnets", selector="subnets"),
        NodeClassChecked(key=KEY, problem="no answer", certain=False),
        NodeClassChecked(key=KEY),
    ]


def test_the_reporter_is_told_of_what_a_decision_had_read_too() -> None:
    stage = Selecting()

    stage.take()
    stage.take()

    assert stage.reporter.received == [NodeClassChecked(key=KEY)]


def test_a_catalogue_that_was_read_for_the_reporter_is_there_for_the_next_decision() -> None:
    stage = Selecting()
    stage.cloud.troubles.fail("instance_types", NodeClassNotReadyError("no subnets"))

    stage.selector.tell(WANTED)
    stage.selector.tell(WANTED)
    stage.run(1)
    assert stage.read() == 1
    stage.selector.tell(WANTED)
    stage.run(1)
    stage.take()

    assert stage.read() == 2
    assert [o.pool.name for o in stage.only().offers] == ["default"]


@pytest.mark.parametrize(
    ("error", "offers"), [(NodeClassNotReadyError("no subnets"), 0), (UnavailableError("no answer"), 1)]
)
def test_what_was_to_be_bought_before_is_not_offered_once_the_class_is_not_ready_any_more(
    error: PortError, offers: int
) -> None:
    stage = Selecting()
    stage.take()
    stage.cloud.troubles.fail("instance_types", error, times=2)

    stage.selector.tell(WANTED)
    # Long enough for the answer not to be remembered any more.
    stage.run(15)
    stage.take()

    assert len(stage.packer.of(PackRequested)[-1].offers) == offers


def test_a_pool_that_is_to_have_a_number_of_nodes_gets_none_for_pods() -> None:
    stage = Selecting()

    stage.take(replace(node_pool("fixed"), replicas=1), node_pool("good"))

    request = stage.only()
    assert [o.pool.name for o in request.offers] == ["good"]
    why = "the pool has replicas, and gets no nodes for pods"
    assert request.not_ready == (Refusal("fixed", Reason.POOL_NOT_READY, why),)


def test_one_broken_pool_does_not_hold_up_the_others() -> None:
    stage = Selecting()

    stage.take(replace(node_pool("going"), deleting=True), node_pool("good"))

    request = stage.only()
    assert [o.pool.name for o in request.offers] == ["good"]
    assert [r.pool for r in request.not_ready] == ["going"]


@pytest.mark.parametrize(
    ("requirements", "told"),
    [
        pytest.param((), [], id="anything goes"),
        pytest.param((Requirement.of(labels.ZONE, Operator.IN, ("nowhere",)),), [False], id="no such zone"),
        pytest.param(
            (Requirement.of(labels.ARCH, Operator.IN, ("riscv",)),), [], id="what no type speaks of"
        ),
        pytest.param(
            (Requirement.of(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=2),), [True], id="too few types"
        ),
        pytest.param(
            (Requirement.of(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=1),), [], id="types enough"
        ),
    ],
)
def test_a_pool_that_nothing_can_be_bought_for_is_told_of(
    requirements: tuple[Requirement, ...], told: list[bool]
) -> None:
    stage = Selecting()

    stage.take(replace(node_pool(), requirements=Requirements(requirements)))

    assert [nothing.min_values for nothing in stage.reporter.of(NothingToBuy)] == told


def test_where_everything_ran_out_nothing_can_be_bought() -> None:
    stage = Selecting()
    every = tuple((o.capacity_type, LARGE.name, o.zone) for o in LARGE.offerings)
    stage.selector.tell(CapacityRanOut(offerings=every))

    stage.take()

    assert len(stage.reporter.of(NothingToBuy)) == 1


def test_what_the_volumes_of_its_node_class_cost_is_part_of_a_pools_offer() -> None:
    stage = Selecting()
    mapped = BlockDevice(device_name="/dev/xvda")

    stage.take(of_class=replace(node_class(), block_devices=(mapped, mapped)))

    assert [offer.volume_cost for offer in stage.only().offers] == [0.02]


def test_the_last_catalogue_serves_pods_that_wait_and_no_consolidation() -> None:
    stage = Selecting()
    stage.take()
    stage.requests()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"), times=2)
    stage.run(300)

    stage.take()
    stage.take(consolidation=Consolidation(candidates=()))
    for_pods, for_moves = stage.requests()
    assert (len(for_pods.offers), for_moves.offers) == (1, ())
    assert [refusal.reason for refusal in for_moves.not_ready] == [Reason.POOL_NOT_READY]
    stage.run(10)
    stage.take()
    stage.take(consolidation=Consolidation(candidates=()))
    assert [len(request.offers) for request in stage.requests()] == [1, 0]
    stage.run(10)
    stage.take(consolidation=Consolidation(candidates=()))

    assert len(stage.only().offers) == 1


def test_a_decision_waits_for_ec2_once_and_not_each_time_that_it_is_asked_again() -> None:
    stage = Selecting()
    stage.take()
    stage.requests()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"), times=2)
    stage.run(300)

    stage.take(seconds=0.1)
    assert stage.requests() == []
    stage.run(0.2)
    assert len(stage.only().offers) == 1
    stage.run(10)
    stage.take(seconds=0.1)
    assert len(stage.only().offers) == 1
    stage.take(seconds=0.2)

    assert (len(stage.only().offers), stage.read()) == (1, 3)
