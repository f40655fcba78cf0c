from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import view
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.nodes import (
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Condition,
    Node,
    NodeClaim,
    NodeView,
    Status,
    condition_of,
    holds,
)
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import DISRUPTED, NOT_READY, UNREGISTERED, Effect, Taint

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEAM = Taint("team", Effect.NO_SCHEDULE, "a")
CNI = Taint("cni", Effect.NO_EXECUTE, "starting")


def conditions(*kinds: str) -> tuple[Condition, ...]:
    return tuple(Condition(kind, Status.TRUE) for kind in kinds)


def claim(*kinds: str, **fields: Any) -> NodeClaim:
    known: dict[str, Any] = {
        "name": "default-1",
        "pool": "default",
        "node_class": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        "created_at": NOW,
        "provider_id": "aws:///us-east-1a/i-0abc",
        "labels": {"from": "claim"},
        "taints": (TEAM,),
        "startup_taints": (CNI,),
        "capacity": Resources({"cpu": 4000, "memory": 100, "gpu": 1}),
        "allocatable": Resources({"cpu": 3900, "memory": 90, "gpu": 1}),
        "conditions": conditions(*kinds),
    }
    return NodeClaim(**{**known, **fields})


def node(**fields: Any) -> Node:
    known: dict[str, Any] = {
        "name": "ip-10-0-0-1",
        "created_at": NOW,
        "labels": {"from": "node"},
        "taints": (TEAM, CNI, NOT_READY),
        "capacity": Resources({"cpu": 4001, "memory": 101, "gpu": 0}),
        "allocatable": Resources({"cpu": 3901, "memory": 91, "gpu": 0}),
    }
    return Node(**{**known, **fields})


STAGES = {
    "written": NodeView(claim=claim(provider_id="")),
    "launched": NodeView(claim=claim(LAUNCHED)),
    "joined": NodeView(claim=claim(LAUNCHED), node=node()),
    "registered": NodeView(claim=claim(LAUNCHED, REGISTERED), node=node()),
    "initialized": NodeView(claim=claim(LAUNCHED, REGISTERED, INITIALIZED), node=node()),
    "node lost": NodeView(claim=claim(LAUNCHED, REGISTERED, INITIALIZED)),
    "not ours": NodeView(node=node()),
}


@pytest.mark.parametrize(
    ("stage", "launched", "registered", "initialized"),
    [
        ("written", False, False, False),
        ("launched", True, False, False),
        ("joined", True, False, False),
        ("registered", True, True, False),
        ("initialized", True, True, True),
        ("node lost", True, False, False),
        ("not ours", True, True, True),
    ],
)
def test_a_node_comes_up_by_stages(
    stage: str, *, launched: bool, registered: bool, initialized: bool
) -> None:
    view = STAGES[stage]

    assert (view.launched, view.registered, view.initialized) == (launched, registered, initialized)


@pytest.mark.parametrize(
    ("stage", "speaker"),
    [
        ("written", "claim"),
        ("launched", "claim"),
        ("joined", "claim"),
        ("registered", "node"),
        ("initialized", "node"),
        ("node lost", "claim"),
        ("not ours", "node"),
    ],
)
def test_the_claim_speaks_for_labels_until_the_node_is_registered(stage: str, speaker: str) -> None:
    assert STAGES[stage].labels == {"from": speaker}


@pytest.mark.parametrize(
    ("stage", "taints"),
    [
        ("launched", (TEAM,)),
        ("joined", (TEAM,)),
        ("registered", (TEAM,)),
        ("initialized", (TEAM, CNI, NOT_READY)),
        ("node lost", (TEAM,)),
        ("not ours", (TEAM, CNI, NOT_READY)),
    ],
)
def test_taints_that_go_by_themselves_are_left_out_while_a_node_starts(
    stage: str, taints: tuple[Taint, ...]
) -> None:
    assert STAGES[stage].taints == taints


def test_a_startup_taint_is_left_out_whatever_its_value_is_by_now() -> None:
    by_now = Taint(CNI.key, CNI.effect, "almost")

    view = NodeView(claim=claim(LAUNCHED, REGISTERED), node=node(taints=(by_now, UNREGISTERED)))

    assert view.taints == ()


def test_a_startup_taint_that_the_claim_also_has_for_good_is_left_out_until_then() -> None:
    view = NodeView(claim=claim(LAUNCHED, taints=(TEAM, CNI)))

    assert view.taints == (TEAM,)


@pytest.mark.parametrize(
    ("stage", "cpu", "memory", "gpu"),
    [
        ("launched", 3900, 90, 1),
        ("joined", 3901, 91, 1),
        ("registered", 3901, 91, 1),
        ("initialized", 3901, 91, 0),
        ("node lost", 3900, 90, 1),
        ("not ours", 3901, 91, 0),
    ],
)
def test_what_a_starting_node_does_not_name_yet_is_taken_from_its_claim(
    stage: str, cpu: int, memory: int, gpu: int
) -> None:
    view = STAGES[stage]

    assert view.allocatable == Resources({"cpu": cpu, "memory": memory, "gpu": gpu})
    assert view.capacity["gpu"] == gpu


@pytest.mark.parametrize(
    ("stage", "amounts"),
    [
        ("launched", (3900, 90, 1)),
        ("joined", (3901, 91, 1)),
        ("registered", (3901, 91, 1)),
        ("initialized", (3901, 91, 0)),
        ("not ours", (3901, 91, 0)),
    ],
)
def test_room_that_was_promised_counts_until_the_node_is_in_use(
    stage: str, amounts: tuple[int, int, int]
) -> None:
    room = STAGES[stage].promised_room

    assert (room["cpu"], room["memory"], room["gpu"]) == amounts


def test_what_a_starting_node_has_less_of_is_not_believed_yet() -> None:
    less = replace(STAGES["registered"], node=node(allocatable=Resources({"cpu": 1, "memory": 99})))

    assert dict(less.promised_room) == {"cpu": 3900, "memory": 99, "gpu": 1}
    assert less.allocatable["cpu"] == 1


@pytest.mark.parametrize(
    ("view", "leaving"),
    [
        (STAGES["initialized"], False),
        (NodeView(claim=claim(deleting_since=NOW)), True),
        (NodeView(claim=claim(), node=node(deleting_since=NOW)), True),
        (NodeView(claim=claim(), node=node(unschedulable=True)), True),
        (NodeView(claim=claim(), node=node(taints=(DISRUPTED,))), True),
        (NodeView(node=node(deleting_since=NOW)), True),
    ],
)
def test_no_pod_should_be_sent_to_a_node_that_leaves(view: NodeView, *, leaving: bool) -> None:
    assert view.leaving == leaving


def test_a_view_is_named_after_its_claim() -> None:
    assert STAGES["initialized"].name == "default-1"
    assert STAGES["initialized"].node_name == "ip-10-0-0-1"
    assert STAGES["initialized"].pool == "default"
    assert STAGES["launched"].node_name == ""
    assert STAGES["not ours"].name == "ip-10-0-0-1"
    assert STAGES["not ours"].pool == ""


def test_a_claim_tells_what_was_launched() -> None:
    one = claim(
        labels={labels.INSTANCE_TYPE: "c5.xlarge", labels.ZONE: "us-east-1a", labels.CAPACITY_TYPE: "spot"}
    )

    assert one.instance_id == "i-0abc"
    assert (one.instance_type, one.zone, one.capacity_type) == ("c5.xlarge", "us-east-1a", "spot")
    assert not claim(provider_id="").launched


def test_a_condition_holds_where_it_is_true() -> None:
    some = (Condition(READY, Status.FALSE, "KubeletNotReady"), Condition(LAUNCHED, Status.TRUE))

    assert holds(some, LAUNCHED)
    assert not holds(some, READY)
    assert not holds(some, REGISTERED)
    assert condition_of(some, READY) == some[0]
    assert condition_of(some, REGISTERED) is None
    assert node(conditions=conditions(READY)).ready


@pytest.mark.parametrize("part", ["claim", "node"])
@pytest.mark.parametrize(
    ("change", "taken"),
    [
        pytest.param({"resource_version": 2}, True, id="later"),
        pytest.param({"resource_version": 1}, False, id="the same"),
        pytest.param({"resource_version": 0}, False, id="earlier"),
        pytest.param({"resource_version": 2, "uid": "other"}, False, id="another of its name"),
    ],
)
def test_a_view_takes_later_revisions_of_its_own_only(
    part: str, change: dict[str, Any], *, taken: bool
) -> None:
    there = view()
    thing = replace(getattr(there, part), **change)

    assert there.updated(thing) == (replace(there, **{part: thing}) if taken else there)


def test_a_view_takes_nothing_it_has_not() -> None:
    assert NodeView(claim=view().claim).updated(view().node).node is None
    assert NodeView(node=view().node).updated(view().claim).claim is None
    assert view().updated(None) == view()
