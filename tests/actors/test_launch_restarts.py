from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest

from tests.actors.launching import AWAY, FOR_LONG, LARGE, XLARGE, Launching, wanted
from tests.actors.troubles import StubCloud
from tests.builders import node_class
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import (
    ConflictError,
    InvalidError,
    NodeClassNotReadyError,
    NotFoundError,
    PortError,
)
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.patches import ClaimPatch

# --- restarts


@pytest.mark.parametrize("when", [n / 20 for n in range(1, 34)])
def test_a_restart_at_any_moment_loses_and_doubles_nothing(when: float) -> None:
    stage = Launching()
    stage.plan("a", "b")

    stage.at(when, stage.restart)
    stage.run(300)

    written = sorted(stage.instances())
    assert sorted(stage.instances().values()) == sorted(stage.cloud.bought)
    assert all(stage.instances().values())
    assert written in (["a", "b"], ["a"], ["b"], [])  # what was not written yet is decided anew


def half_done(*, marks: int = 2, called: bool, recorded: int = 0) -> Launching:
    """Two claims as a process left them that died: so many marked, called for or not, so many recorded."""
    stage = Launching()
    stage.plan("a", "b")
    stage.run(60)
    claims, bought = stage.api.claims(), tuple(stage.cloud.bought.values())
    stage.kill()
    for claim in claims:
        stage.api.delete("NodeClaim", claim.name)
        stage.api.patch_claim(claim.name, ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    for n, claim in enumerate(claims):
        mark = {labels.LAUNCH: claim.annotations[labels.LAUNCH]} if n < marks else {}
        bare = replace(wanted(claim.name), annotations={**wanted(claim.name).annotations, **mark})
        stage.api.apply(claim if n < recorded else bare)
    if not called:
        stage.cloud = StubCloud(stage.world, LARGE, XLARGE)
    assert called or not recorded
    assert len(bought) == 2
    for probe in (stage.lifecycle, stage.cluster, stage.selector):
        probe.received.clear()
    stage.start()
    return stage


def resumed(stage: Launching, seconds: float = 100) -> Launching:
    stage.restart()
    stage.run(seconds)
    return stage


def test_claims_left_without_a_mark_are_launched_after_a_restart() -> None:
    stage = resumed(half_done(marks=0, called=False))

    stage.assert_each_has_its_own("a", "b")
    assert [line["nodeclaims"] for line in stage.logged("resuming launch")] == [["a", "b"]]


@pytest.mark.parametrize("called", [True, False], ids=["called", "not called"])
def test_claims_left_with_their_marks_are_launched_by_the_same_call(*, called: bool) -> None:
    stage = resumed(half_done(called=called), seconds=10)

    stage.assert_each_has_its_own("a", "b")
    assert stage.cloud.troubles.calls[-1] == "launch 2"


def test_claims_of_one_call_that_were_recorded_in_part_get_the_rest_of_its_instances() -> None:
    stage = resumed(half_done(called=True, recorded=1))

    assert stage.instances() == {"a": "i-0", "b": "i-1"}
    assert len(stage.cloud.bought) == 2


@pytest.mark.parametrize("called", [True, False], ids=["called", "not called"])
def test_a_claim_left_marked_alone_is_launched_with_the_others_of_its_call(*, called: bool) -> None:
    stage = resumed(half_done(marks=1, called=called), seconds=10)

    stage.assert_each_has_its_own("a", "b")
    assert stage.cloud.troubles.calls[-1] == "launch 2"
    assert len({LaunchMark.of(c).token for c in stage.api.claims()}) == 1  # type: ignore[union-attr]


def test_a_claim_left_marked_alone_is_looked_up_when_its_call_had_others() -> None:
    stage = half_done(marks=1, called=False)
    stage.api.delete("NodeClaim", "b")
    stage.api.patch_claim("b", ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.api.apply(wanted("c"))

    resumed(stage)

    assert stage.failed() == {"a": Cause.INSUFFICIENT_CAPACITY}
    assert stage.live() == ["c"]
    assert [stage.instances()["c"]] == list(stage.cloud.bought)


def test_a_call_that_cannot_be_repeated_is_looked_up_by_its_tag() -> None:
    stage = half_done(called=True)
    stage.cloud.types = (LARGE,)

    resumed(stage, seconds=5)

    stage.assert_each_has_its_own("a", "b")
    assert stage.cloud.troubles.calls[-1] == "launched_by"


def test_what_a_call_bought_that_cannot_be_repeated_is_looked_for_as_long_as_it_may_be_invisible() -> None:
    stage = half_done(called=True)
    stage.cloud.types = (LARGE,)
    bought = dict(stage.cloud.bought)
    stage.cloud.bought.clear()

    resumed(stage, seconds=35)
    assert stage.failed() == {}
    stage.cloud.bought.update(bought)
    stage.run(20)

    stage.assert_each_has_its_own("a", "b")


def test_a_call_that_cannot_be_repeated_and_bought_nothing_fails_its_claims() -> None:
    stage = half_done(called=False)
    stage.cloud.types = (LARGE,)

    resumed(stage)

    assert stage.failed() == dict.fromkeys(("a", "b"), Cause.INSUFFICIENT_CAPACITY)
    assert stage.cloud.bought == {}
    assert stage.live() == []


def test_a_look_that_fails_for_long_is_made_again() -> None:
    stage = half_done(called=True)
    stage.cloud.types = (LARGE,)
    stage.cloud.troubles.fail("launched_by", AWAY, times=2 * FOR_LONG)

    resumed(stage, seconds=900)

    stage.assert_each_has_its_own("a", "b")


def test_marked_claims_that_vanish_before_their_call_is_repeated_are_let_go() -> None:
    stage = half_done(called=True)
    stage.slow["ec2", "catalogue", "default/0"] = 5
    stage.restart()
    stage.run(3)
    for name in ("a", "b"):
        stage.api.delete("NodeClaim", name)
        stage.api.patch_claim(name, ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.run(200)

    assert stage.api.claims() == ()
    assert "launch 2" not in stage.cloud.troubles.calls[2:]


def test_a_claim_whose_pool_is_gone_is_not_adopted() -> None:
    stage = half_done(marks=0, called=False)
    stage.launcher.tell(
        NodeChanged(name="a", view=NodeView(claim=stage.api.get_claim("a")), node_class=node_class())
    )

    stage.run(60)

    assert stage.cloud.bought == {}


# --- all at once


@pytest.mark.seeds(quick=20, soak=2000)
def test_whatever_goes_wrong_no_claim_has_two_instances_and_none_is_forgotten(seed: int) -> None:
    stage, dice = Launching(seed=seed), random.Random(seed)
    often = dice.choice((0.1, 0.3, 0.6))

    def chance() -> tuple[PortError, bool] | None:
        return (AWAY, dice.random() < 0.5) if dice.random() < often else None

    stage.api.troubles.chance = stage.cloud.troubles.chance = chance
    stage.cloud.stock = dice.choice((None, 1, 2))
    stage.plan("a", "b", "c")
    for _ in range(dice.randint(0, 3)):
        stage.at(dice.uniform(0, 30), stage.restart)
    stage.run(60)
    stage.api.troubles.chance = stage.cloud.troubles.chance = lambda: None
    stage.run(400)

    taken = [name for name in stage.instances().values() if name]
    assert len(set(taken)) == len(taken)
    assert sorted(taken) == sorted(stage.cloud.bought)
    assert all(c.provider_id for c in stage.api.claims() if not c.leaving)


@pytest.mark.seeds(quick=40, soak=2000)
def test_whatever_is_answered_and_whoever_deletes_claims_no_launch_leaves_its_table(seed: int) -> None:
    stage, dice = Launching(seed=seed), random.Random(seed)
    errors = (
        AWAY,
        InvalidError("no"),
        NotFoundError("gone"),
        ConflictError("changed"),
        NodeClassNotReadyError("no subnets"),
    )
    often = dice.choice((0.1, 0.3))

    def chance() -> tuple[PortError, bool] | None:
        return (dice.choice(errors), dice.random() < 0.5) if dice.random() < often else None

    def delete(name: str) -> None:
        if name in stage.live():
            stage.api.delete("NodeClaim", name)

    stage.api.troubles.chance = stage.cloud.troubles.chance = chance
    stage.plan("a", "b", "c")
    for name in dice.sample("abc", dice.randint(0, 2)):
        stage.at(dice.uniform(0, 10), partial(delete, name))
    if dice.random() < 0.5:
        stage.at(dice.uniform(0, 30), stage.restart)
    stage.run(60)
    stage.api.troubles.chance = stage.cloud.troubles.chance = lambda: None
    stage.run(400)  # an event that the table does not show would have ended the world by now

    taken = [name for name in stage.instances().values() if name]
    assert len(set(taken)) == len(taken)
