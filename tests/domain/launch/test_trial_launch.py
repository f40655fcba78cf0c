from __future__ import annotations

from dataclasses import replace

from tests.builders import START, instance_type, node_class, node_pool
from treenail.domain.launch.trial_launch import Forbidden, trial_launch
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG, FleetRequest
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Status
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.taints import Effect, Taint

LARGE = instance_type("m5.large", 2, price=0.1)
DEAR = instance_type("c5.large", 2, price=0.11)


def trial(*pools: NodePool, types: tuple[InstanceType, ...] = (LARGE, DEAR)) -> FleetRequest | None:
    return trial_launch(node_class(), pools, types, cluster_name="demo", tags={"team": "a"}, now=START)


def pool(name: str, *needs: Requirement) -> NodePool:
    return replace(node_pool(name), requirements=Requirements(needs))


def test_a_launch_is_tried_as_the_first_pool_would_make_it() -> None:
    tainted = replace(pool("a"), taints=(Taint("team", Effect.NO_SCHEDULE),))

    request = trial(pool("b"), tainted)

    assert request is not None
    assert request.count == 1
    assert tainted.taints[0] in request.taints
    assert (request.labels[labels.NODEPOOL], request.tags[CLUSTER_TAG]) == ("a", "demo")
    assert request.tags["team"] == "a"


def test_the_type_tried_is_one_the_pool_may_buy_whatever_it_costs() -> None:
    of_type = Requirement.of(labels.INSTANCE_TYPE, Operator.IN, ("m5.large",))

    free, narrow = trial(pool("a")), trial(pool("a", of_type))

    assert free is not None
    assert narrow is not None
    assert {one.instance_type for one in free.overrides} == {"c5.large"}
    assert {one.instance_type for one in narrow.overrides} == {"m5.large"}


def test_a_pool_that_can_buy_nothing_is_passed_over() -> None:
    nowhere = Requirement.of(labels.ZONE, Operator.IN, ("z",))

    request = trial(pool("a", nowhere), pool("b"))

    assert request is not None
    assert request.labels[labels.NODEPOOL] == "b"
    assert trial(pool("a", nowhere)) is None
    assert trial() is None


def test_what_is_forbidden_is_said_by_karpenters_reason() -> None:
    condition = Forbidden(action="RunInstances", why="no").condition

    assert (condition.type, condition.status) == ("ValidationSucceeded", Status.FALSE)
    assert condition.reason == "RunInstancesAuthCheckFailed"
    assert condition.message == "The controller is not authorized to call ec2:RunInstances: no"
