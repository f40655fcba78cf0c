from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.living import AWAY, Living
from tests.builders import (
    claim,
    instance,
)
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.fleets import LAUNCH_TAG
from treenail.domain.model.nodes import READY, Condition, Status

# --- garbage


def test_an_instance_without_a_claim_is_terminated() -> None:
    stage = Living()
    stage.cloud.bought["i-9"] = instance("i-9")

    stage.run(29.9)
    assert sorted(stage.cloud.bought) == ["i-9"]
    stage.run(5)

    assert stage.cloud.bought == {}
    assert stage.logged("garbage collecting instances") == [{"instances": ["i-9"]}]


def test_claims_are_listed_only_where_something_looks_like_garbage() -> None:
    stage = Living()
    stage.launch()
    stage.join()

    stage.run(600)
    before = stage.api.troubles.calls.count("list_claims")
    stage.cloud.bought["i-9"] = instance("i-9")
    stage.run(240)

    assert before == 0
    assert stage.api.troubles.calls.count("list_claims") == 1
    assert sorted(stage.cloud.bought) == ["i-1"]


def test_an_instance_that_a_claim_is_about_to_get_is_left() -> None:
    stage = Living()
    stage.cloud.bought["i-9"] = instance("i-9", tags={LAUNCH_TAG: "5f1e"})
    marked = claim("c1", version=0, annotations={labels.LAUNCH: "5f1e/0/x"})
    stage.api.apply(replace(marked, uid="", created_at=stage.now()))

    stage.run(200)

    assert sorted(stage.cloud.bought) == ["i-9"]


def test_a_claim_whose_instance_is_gone_is_deleted() -> None:
    stage = Living()
    stage.launch()
    stage.join()
    stage.run(60)

    stage.cloud.bought.clear()
    stage.run(240)
    # A listing that leaves out what runs is wrong.
    assert len(stage.api.claims()) == 1
    stage.api.set_node_condition("n1", Condition(READY, Status.UNKNOWN))
    stage.run(240)

    assert stage.api.claims() == ()
    assert stage.termination.received == [
        ClaimGivenUp(name="c1", cause=Cause.GARBAGE_COLLECTED, actor="NodeLifecycle")
    ]


def test_the_node_of_a_claim_that_cannot_be_read_now_is_not_garbage() -> None:
    stage = Living()
    stage.launch()
    stage.run(20)

    stage.api.apply_broken(Kind.NODE_CLAIM, "c1", ObjectRef(kind="NodeClaim", name="c1"), "spec.x: unknown")
    stage.run(300)

    assert stage.api.list_claims() == ()
    assert sorted(stage.cloud.bought) == ["i-1"]


def test_nothing_is_garbage_when_all_is_well() -> None:
    stage = Living()
    stage.launch()
    stage.join()

    stage.run(1000)

    assert (len(stage.api.claims()), len(stage.cloud.bought)) == (1, 1)
    assert stage.cloud.troubles.calls.count("instances") == 9


@pytest.mark.parametrize("call", ["instances", "list_claims", "terminate"])
def test_what_cannot_be_collected_is_collected_later(call: str) -> None:
    stage = Living()
    stage.launch()
    stage.cloud.bought = {"i-9": instance("i-9")}
    for outside in (stage.api, stage.cloud):
        outside.troubles.fail(call, AWAY)

    stage.run(500)

    assert (stage.api.claims(), stage.cloud.bought) == ((), {})


def test_the_cloud_is_listed_before_the_cluster() -> None:
    stage = Living()
    stage.cloud.bought["i-9"] = instance("i-9")
    order: list[str] = []
    stage.cloud.troubles.calls = stage.api.troubles.calls = order

    stage.run(60)

    assert order == ["instances", "list_claims", "terminate i-9"]
