from __future__ import annotations

import pytest

from tests.actors.launching import AWAY, FOR_LONG, LARGE, Launching
from tests.builders import gone
from treenail.adapters.fake.cluster import Change
from treenail.domain.launch.launching import LaunchMark, NodeLaunched
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import ConflictError, InvalidError, NotFoundError, TooManyRequestsError
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.telemetry import metrics

# --- lost answers


@pytest.mark.parametrize("done", [True, False], ids=["answer lost", "call lost"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("call", ["create_claim", "get_claim", "mark", "record", "instance_types", "launch"])
def test_no_lost_call_or_answer_loses_or_doubles_an_instance(call: str, times: int, *, done: bool) -> None:
    stage = Launching()
    for outside in (stage.api, stage.cloud):
        outside.troubles.fail(call, AWAY, times=times, done=done)

    stage.plan("a", "b")
    stage.run(120)

    stage.assert_each_has_its_own("a", "b")


@pytest.mark.parametrize("done", [True, False], ids=["answer lost", "call lost"])
@pytest.mark.parametrize("call", ["mark", "record", "instance_types", "launch"])
def test_what_fails_for_long_is_taken_up_again_later(call: str, *, done: bool) -> None:
    stage = Launching()
    for outside in (stage.api, stage.cloud):
        outside.troubles.fail(call, AWAY, times=2 * FOR_LONG, done=done)

    stage.plan("a", "b")
    stage.run(600)

    stage.assert_each_has_its_own("a", "b")


def test_an_instance_that_was_written_down_is_told_of_when_the_watch_says_so_whatever_was_answered() -> None:
    stage = Launching()
    stage.api.troubles.fail("record", AWAY, times=FOR_LONG, done=True)

    stage.plan("a")
    stage.run(2)
    told = len(stage.logged("launched nodeclaim")), len(stage.lifecycle.of(NodeLaunched))
    stage.run(120)

    assert told == (1, 1)
    assert len(stage.logged("launched nodeclaim")) == 1
    assert [span.name for span in stage.telemetry.spans()].count("launch") == 1
    stage.assert_each_has_its_own("a")


def test_a_call_that_is_throttled_is_made_later() -> None:
    stage = Launching()
    stage.cloud.troubles.fail("launch", TooManyRequestsError("RequestLimitExceeded"), times=2)

    stage.plan("a")
    stage.run(60)

    stage.assert_each_has_its_own("a")
    assert stage.telemetry.observed(metrics.BATCH_SIZE.name, batcher="create_fleet").total == 1


# --- claims that cannot be written


def test_a_claim_that_is_refused_fails_and_the_others_are_launched() -> None:
    stage = Launching()
    stage.api.troubles.fail("create_claim", InvalidError("no such field"))

    stage.plan("a", "b")
    stage.run(60)

    assert stage.failed() == {"a": Cause.LAUNCH_FAILED}
    stage.assert_each_has_its_own("b")
    assert "delete_claim a" not in stage.api.troubles.calls


def test_the_last_claim_to_be_refused_does_not_hold_up_those_written_before() -> None:
    stage = Launching()
    stage.slow["kubernetes", "claim", "b"] = 5
    stage.plan("a", "b")
    stage.run(2)
    stage.api.troubles.fail("create_claim", InvalidError("no such field"))

    stage.run(60)

    assert stage.failed() == {"b": Cause.LAUNCH_FAILED}
    stage.assert_each_has_its_own("a")


def test_a_claim_whose_writing_is_never_answered_is_deleted_when_it_shows_up() -> None:
    stage = Launching()
    stage.api.troubles.fail("create_claim", AWAY, times=FOR_LONG, done=True)
    stage.api.troubles.fail("get_claim", AWAY, times=2 * FOR_LONG)

    stage.plan("a")
    stage.run(400)

    assert stage.failed() == {"a": Cause.LAUNCH_FAILED}
    assert stage.live() == []
    assert stage.cloud.bought == {}


def test_a_claim_given_up_is_deleted_however_long_that_takes() -> None:
    stage = Launching()
    stage.cloud.types = ()
    stage.api.troubles.fail("delete_claim", AWAY, times=3 * FOR_LONG)

    stage.plan("a")
    stage.run(900)
    stage.cloud.types = (LARGE,)
    stage.run(60)

    assert stage.live() == []
    assert stage.cloud.bought == {}


def test_a_claim_that_comes_to_nothing_ends_once_with_its_cause_and_nobody_looks_for_an_instance() -> None:
    stage = Launching()
    stage.cloud.stock = 0

    stage.plan("a")
    stage.run(10)

    assert stage.api.claims() == ()
    about_its_end = [
        call for call in stage.api.troubles.calls if call in {"void a", "delete_claim a", "release a"}
    ]
    assert about_its_end == ["void a", "delete_claim a", "release a"]
    (ended,) = [r.event.message for r in stage.api.events() if r.event.reason == "Ended"]
    why = "InsufficientInstanceCapacity: no capacity"
    assert ended.startswith(f"Ended: insufficient_capacity ({why}), by launch of FleetLauncher; ")
    disrupted = "karpenter_nodeclaims_disrupted_total"
    assert stage.telemetry.counted(disrupted, reason="insufficient_capacity") == 1


def test_a_claim_that_comes_to_nothing_while_somebody_deletes_it_is_not_waited_for() -> None:
    stage = Launching()
    stage.cloud.stock = 0

    def delete_when_marked(change: Change) -> None:
        mark = LaunchMark.of(change.after) if isinstance(change.after, NodeClaim) else None
        if mark is not None and not stage.slow:
            stage.slow["ec2", "fleet", mark.token] = 3
            stage.at(stage.seconds + 1, lambda: stage.api.delete("NodeClaim", "a"))

    stage.api.on_change(delete_when_marked)
    stage.plan("a")
    stage.run(10)

    assert "void a" not in stage.api.troubles.calls
    assert stage.failed() == {"a": Cause.INSUFFICIENT_CAPACITY}
    assert stage.api.claims() == ()


# --- claims that cannot be marked


def test_a_claim_somebody_changed_is_read_again_and_marked() -> None:
    stage = Launching()
    touch = ClaimPatch(annotations={"by": "somebody else"})
    stage.at(0.5, lambda: stage.api.patch_claim("a", touch))

    stage.plan("a", "b")
    stage.run(60)

    assert "patch_claim a" in stage.api.troubles.calls
    stage.assert_each_has_its_own("a", "b")
    assert stage.api.get_claim("a").annotations["by"] == "somebody else"


def test_conflicts_without_end_hold_up_nobody_else() -> None:
    stage = Launching()
    stage.api.troubles.fail("mark", ConflictError("it changed"), times=2 * FOR_LONG)

    stage.plan("a", "b")
    stage.run(600)

    stage.assert_each_has_its_own("a", "b")


@pytest.mark.parametrize("when", [0.35, 0.45, 0.55, 0.65])
def test_a_claim_deleted_before_its_mark_is_not_launched_and_the_others_are(when: float) -> None:
    stage = Launching()
    stage.at(when, lambda: stage.api.delete("NodeClaim", "a"))

    stage.plan("a", "b")
    stage.run(60)

    assert stage.live() == ["b"]
    assert stage.instances() == {"b": "i-0"}
    assert list(stage.cloud.bought) == ["i-0"]


@pytest.mark.parametrize("when", [0.25, 0.35, 0.45])
def test_the_launch_of_a_claim_that_vanished_before_its_mark_is_in_its_trace_once(when: float) -> None:
    stage = Launching()
    stage.api.troubles.fail("mark", NotFoundError("gone"))
    stage.at(when, lambda: stage.launcher.tell(gone("a")))

    stage.plan("a", "b")
    stage.run(60)

    spans = [(str(span.attributes["treenail.nodeclaim.name"]), span.error) for span in stage.spans("launch")]
    assert sorted(spans) == [("a", "the claim was deleted"), ("b", "")]
    assert stage.telemetry.rewritten == 0


def test_a_claim_that_vanished_before_its_mark_is_forgotten() -> None:
    stage = Launching()
    stage.api.troubles.fail("mark", NotFoundError("gone"))

    stage.plan("a", "b")
    stage.run(60)

    assert [m.claim.name for m in stage.lifecycle.of(NodeLaunched)] == ["b"]
    assert len(stage.cloud.bought) == 1


def test_a_claim_that_got_an_instance_otherwise_is_not_launched() -> None:
    stage = Launching()
    stage.at(0.5, lambda: stage.api.patch_claim("a", ClaimPatch(provider_id="aws:///a/i-mine")))

    stage.plan("a")
    stage.run(60)

    assert stage.cloud.bought == {}


# --- claims that go while they are launched


def test_a_claim_that_is_gone_when_its_instance_comes_is_forgotten() -> None:
    stage = Launching()
    stage.plan("a", "b")
    stage.world.run_until(lambda: "launch 2" in stage.cloud.troubles.calls, at_most=60)

    stage.api.delete("NodeClaim", "a")
    stage.api.patch_claim("a", ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.run(60)

    assert len(stage.cloud.bought) == 2  # the one too many is garbage, and collected
    assert stage.instances() == {"b": "i-0"}


def test_a_claim_that_is_gone_when_its_instance_is_written_down_is_forgotten() -> None:
    stage = Launching()
    stage.api.troubles.fail("record", NotFoundError("gone"))

    stage.plan("a", "b")
    stage.run(60)

    assert [m.claim.name for m in stage.lifecycle.of(NodeLaunched)] == ["b"]
    assert stage.failed() == {}


def test_nothing_is_dealt_when_all_claims_are_gone_before_the_answer() -> None:
    stage = Launching()
    stage.plan("a")
    stage.world.run_until(lambda: "launch 1" in stage.cloud.troubles.calls, at_most=60)

    stage.api.delete("NodeClaim", "a")
    stage.api.patch_claim("a", ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.run(60)

    assert stage.lifecycle.received == stage.selector.received == []
    assert stage.failed() == {}
    assert [c for c in stage.api.troubles.calls if c.startswith("record")] == []


def test_nobody_is_blamed_when_all_claims_are_gone_before_the_call_fails() -> None:
    stage = Launching()
    stage.cloud.troubles.fail("launch", InvalidError("not yours"))
    stage.plan("a")
    stage.world.run_until(lambda: "launch 1" in stage.cloud.troubles.calls, at_most=60)

    stage.api.delete("NodeClaim", "a")
    stage.api.patch_claim("a", ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.run(60)

    assert stage.selector.received == []
    assert stage.failed() == {}


def test_no_call_is_repeated_for_claims_that_all_go() -> None:
    stage = Launching()
    stage.cloud.troubles.fail("launch", AWAY, times=FOR_LONG, done=True)
    stage.plan("a")
    stage.world.run_until(lambda: "launch 1" in stage.cloud.troubles.calls, at_most=60)

    stage.api.delete("NodeClaim", "a")
    stage.run(60)

    assert stage.cloud.troubles.calls.count("launch 1") == 1
    assert stage.failed() == {}
