from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.launching import AWAY, Launching, launched, wanted
from tests.builders import decision, node_class, node_pool
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.launch.launching import CapacityRanOut, LaunchFailed, LaunchMark, NodeLaunched
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, PortError
from treenail.domain.model.fleets import FleetError
from treenail.domain.model.nodes import NodeClaim

# --- the way it goes


def test_a_launch_is_three_writes_in_order() -> None:
    stage = launched("a", "b")

    assert stage.api.troubles.calls == [
        *("create_claim a", "create_claim b"),
        *("mark a", "mark b"),
        *("record a", "record b"),
    ]
    assert stage.cloud.troubles.calls == ["instance_types default", "launch 2"]
    stage.assert_each_has_its_own("a", "b")


def test_the_call_is_made_only_when_every_claim_is_marked() -> None:
    stage = Launching()
    stage.slow["kubernetes", "claim", "b"] = 5

    stage.plan("a", "b")
    stage.run(9)
    assert [LaunchMark.of(c) is not None for c in stage.api.claims()] == [True, False]
    assert "launch 2" not in stage.cloud.troubles.calls

    stage.run(10)
    assert "launch 2" in stage.cloud.troubles.calls


def test_a_claim_says_what_it_got() -> None:
    stage = launched("a")

    (claim,) = stage.api.claims()
    (bought,) = stage.cloud.bought.values()
    assert (claim.provider_id, claim.image_id) == (bought.provider_id, "ami-1")
    assert (claim.instance_type, claim.zone, claim.capacity_type) == ("m5.large", "a", labels.SPOT)
    assert claim.labels["size"] == "large"
    # Karpenter would delete the profile of a claim that does not name it, once the class has another.
    assert claim.annotations["karpenter.k8s.aws/instance-profile-name"] == "demo_1"
    assert (claim.capacity, claim.allocatable) == (bought.capacity, bought.allocatable)
    assert [c.type for c in claim.conditions] == ["Launched", "Registered", "Initialized", "Ready"]
    assert stage.lifecycle.received == [NodeLaunched(claim=claim, instance=bought)]


@pytest.mark.parametrize(("marks", "relaxed"), [({}, "false"), ({labels.MIN_VALUES_RELAXED: "true"}, "true")])
def test_claims_are_counted_by_whether_they_leave_the_choice_asked_for(
    marks: dict[str, str], relaxed: str
) -> None:
    stage = Launching()
    one = wanted("a")

    stage.launcher.tell(
        PlanCommitted(
            decision=decision(),
            claims=(replace(one, annotations={**one.annotations, **marks}),),
            pools={"default": node_pool()},
            node_classes={"EC2NodeClass/default": node_class()},
        )
    )
    stage.run(60)

    said = {"reason": "provisioned", "nodepool": "default", "min_values_relaxed": relaxed}
    assert stage.telemetry.counted("karpenter_nodeclaims_created_total", **said) == 1


def test_the_cluster_state_hears_of_what_is_written_without_waiting_for_the_watch() -> None:
    stage = launched("a")

    seen = [m.object for m in stage.cluster.of(ObjectSeen)]

    assert [isinstance(o, NodeClaim) and o.launched for o in seen] == [False, True]


def test_a_plan_without_claims_is_nothing_to_launch() -> None:
    stage = launched()

    assert stage.api.troubles.calls == []


def test_claims_that_ask_for_different_things_are_launched_by_calls_of_their_own() -> None:
    stage = Launching()
    plan = PlanCommitted(
        decision=decision(),
        claims=(wanted("a"), replace(wanted("b"), labels={"team": "web"})),
        pools={"default": node_pool()},
        node_classes={"EC2NodeClass/default": node_class()},
    )

    stage.launcher.tell(plan)
    stage.run(60)

    assert stage.cloud.troubles.calls[1:] == ["launch 1", "launch 1"]
    stage.assert_each_has_its_own("a", "b")


def test_a_launch_is_traced_from_the_decision_to_the_instance() -> None:
    stage = Launching()
    stage.cloud.troubles.fail("launch", AWAY)

    stage.plan("a", "b")
    stage.run(60)

    fleet, again = stage.spans("EC2/CreateFleet")
    first, second = sorted(stage.spans("launch"), key=lambda s: str(s.attributes["treenail.nodeclaim.name"]))
    root = decision().context
    assert [s.parent for s in (first, second)] == [root, root]
    assert (fleet.parent, again.parent) == (first.context, first.context)
    assert (fleet.error, again.error) == ("no answer", "")
    assert again.attributes["treenail.fleet.launched"] == 2
    assert first.start <= fleet.start < fleet.end <= first.end


# --- capacity


def test_claims_that_got_nothing_fail_and_go() -> None:
    stage = Launching()
    stage.cloud.stock = 1

    stage.plan("a", "b")
    stage.run(60)

    assert stage.failed() == {"b": Cause.INSUFFICIENT_CAPACITY}
    assert stage.instances()["a"] == "i-0"
    assert [c.name for c in stage.api.claims()] == ["a"]
    assert stage.selector.received == [CapacityRanOut(offerings=((labels.SPOT, "m5.large", "a"),))]


def test_a_claim_deleted_in_vain_says_so_in_its_span() -> None:
    stage = Launching()
    stage.cloud.stock = 0

    stage.plan("a")
    stage.run(60)

    (span,) = stage.spans("launch")
    assert span.error == "InsufficientInstanceCapacity: no capacity"
    assert [e.attributes["error.type"] for e in stage.spans("EC2/CreateFleet")[0].events] == [
        "InsufficientInstanceCapacity"
    ]


def test_a_call_that_gives_nothing_for_another_reason_is_the_node_classs_fault() -> None:
    stage = Launching()
    stage.cloud.stock = 0
    stage.cloud.shortage = (FleetError("UnauthorizedOperation", "not yours"),)

    stage.plan("a")
    stage.run(60)

    assert stage.selector.received == [
        LaunchFailed(node_class=node_class().ref, why="UnauthorizedOperation: not yours")
    ]
    assert stage.failed() == {"a": Cause.LAUNCH_FAILED}


def test_a_launch_that_more_capacity_would_not_help_is_warned_about_and_one_without_capacity_is_not() -> None:
    levels = {}
    for code in ("UnauthorizedOperation", "InsufficientInstanceCapacity"):
        stage = Launching()
        stage.cloud.stock = 0
        stage.cloud.shortage = (FleetError(code, "no"),)
        stage.plan("a")
        stage.run(60)
        [line] = [one for one in stage.telemetry.logs if one.message == "failed launching nodeclaim"]
        levels[code] = line.fields["level"]

    assert levels == {"UnauthorizedOperation": "warning", "InsufficientInstanceCapacity": "info"}


def test_a_claim_for_which_nothing_is_on_offer_any_more_fails() -> None:
    stage = Launching()
    stage.cloud.types = ()

    stage.plan("a")
    stage.run(60)

    assert stage.failed() == {"a": Cause.INSUFFICIENT_CAPACITY}
    assert stage.live() == []
    assert stage.cloud.troubles.calls == ["instance_types default"]


# --- node classes that cannot be launched from


@pytest.mark.parametrize(
    ("call", "error", "cause"),
    [
        ("instance_types", NodeClassNotReadyError("no subnets"), Cause.NODE_CLASS_NOT_READY),
        ("launch", NodeClassNotReadyError("no subnets"), Cause.NODE_CLASS_NOT_READY),
        ("launch", InvalidError("no subnets"), Cause.LAUNCH_FAILED),
    ],
)
def test_a_broken_node_class_fails_its_claims(call: str, error: PortError, cause: Cause) -> None:
    stage = Launching()
    stage.cloud.troubles.fail(call, error)

    stage.plan("a", "b")
    stage.run(60)

    assert stage.failed() == dict.fromkeys("ab", cause)
    assert stage.selector.received == [LaunchFailed(node_class=node_class().ref, why="no subnets")]
    assert stage.live() == []
