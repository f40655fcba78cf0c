from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from tests.actors.ending import OURS, Ending, budget, moved
from tests.builders import claim, instance, spec
from tests.probes import Probe
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model import labels
from treenail.domain.model.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    PortError,
    UnavailableError,
)
from treenail.domain.model.fleets import LAUNCH_TAG
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import READY, Condition, Status
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Pod
from treenail.domain.termination.drain import InstanceTerminated, NodeDrained

AWAY = UnavailableError("no answer")


# --- order


def test_critical_pods_leave_when_the_others_are_gone() -> None:
    stage = Ending()
    critical = replace(spec(), priority_class="system-cluster-critical")
    stage.pod("dns", spec=critical)
    stage.pod("web")

    stage.interrupt()
    stage.run(60)

    assert moved(stage) == ["evict_pod web", "evict_pod dns"]
    stage.assert_all_gone()


def test_the_node_is_drained_when_the_last_pod_has_gone() -> None:
    stage = Ending()
    stage.pod("p1")
    gone: list[datetime] = []
    stage.api.on_change(
        lambda c: gone.append(stage.now()) if isinstance(c.before, Pod) and not c.after else None
    )

    stage.interrupt()
    stage.run(60)

    (drain,) = stage.spans("drain")
    assert len(gone) == 1
    assert gone[0] <= drain.end
    assert len(stage.observer.of(NodeDrained)) == 1


def test_a_pod_is_asked_to_leave_once_at_a_time() -> None:
    stage = Ending()
    stage.slow["kubernetes", "pod", stage.pod("p1").uid] = 20

    stage.interrupt()
    stage.run(19)
    assert moved(stage) == []
    stage.run(60)

    assert moved(stage) == ["evict_pod p1"]


# --- budgets


def test_a_pod_that_a_budget_protects_is_asked_again_until_it_may_leave() -> None:
    stage = Ending()
    stage.pod("p1", labels={"app": "web"})
    budget(stage, allowed=0)

    stage.interrupt(seconds=None)
    stage.decide()
    stage.run(20)
    assert stage.told() == ["NodeCordoned"]
    assert 8 <= len(moved(stage)) <= 11
    budget(stage, allowed=1)
    stage.run(60)

    stage.assert_all_gone()
    assert len(stage.logged("failed draining node")) == len(moved(stage)) - 1


def test_an_eviction_that_fails_otherwise_is_tried_again_without_a_word() -> None:
    stage = Ending()
    stage.pod("p1")
    stage.api.troubles.fail("evict_pod", AWAY, times=3)

    stage.interrupt()
    stage.run(60)

    stage.assert_all_gone()
    assert stage.logged("failed draining node") == []


@pytest.mark.parametrize("error", [InvalidError("a webhook denied it"), UnavailableError("forbidden (403)")])
def test_an_eviction_that_keeps_failing_is_told(error: PortError) -> None:
    stage = Ending()
    stage.pod("p1")
    stage.api.troubles.fail("evict_pod", error, times=300)

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    (event,) = (r.event for r in stage.api.events() if r.event.reason == "FailedDraining")
    assert event.message == f"Failed to drain node, pod default/p1: {error}"
    assert len(stage.logged("failed draining node")) > 10


@pytest.mark.parametrize("pods", [50, 200])
def test_however_many_pods_budgets_protect_they_are_asked_five_times_a_second_in_all(pods: int) -> None:
    stage = Ending()
    for n in range(pods):
        stage.pod(f"p{n}", labels={"app": "web"})
    budget(stage, allowed=0)
    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    before = len(moved(stage))
    stage.run(120)

    assert 120 * 4 <= len(moved(stage)) - before <= 120 * 5


# --- calls that fail


@pytest.mark.parametrize("done", [True, False], ids=["answer lost", "call lost"])
@pytest.mark.parametrize(
    "call", ["patch_node", "explain", "delete_claim", "delete_node", "terminate", "instances", "release"]
)
def test_a_step_that_fails_is_tried_again(call: str, *, done: bool) -> None:
    stage = Ending()
    for outside in (stage.api, stage.cloud):
        outside.troubles.fail(call, AWAY, times=3, done=done)

    stage.interrupt()
    stage.run(120)

    stage.assert_all_gone()
    assert stage.told()[-2:] == ["NodeDrained", "InstanceTerminated"]


@pytest.mark.parametrize("error", [NotFoundError("gone"), ConflictError("another")])
@pytest.mark.parametrize("call", ["patch_node", "explain", "delete_node", "release"])
def test_what_is_gone_or_another_is_seen_to_when_the_watch_says_so(call: str, error: Any) -> None:
    stage = Ending()
    stage.api.troubles.fail(call, error)

    stage.interrupt()
    stage.run(120)

    stage.assert_all_gone()


def test_a_step_that_keeps_failing_is_tried_after_longer_and_longer_pauses() -> None:
    stage = Ending()
    stage.cloud.troubles.fail("terminate", AWAY, times=6)
    when: list[float] = []
    stage.interrupt()
    while stage.cloud.bought:
        calls = len(stage.cloud.troubles.calls)
        assert stage.world.run_until(lambda n=calls: len(stage.cloud.troubles.calls) > n, at_most=300)  # type: ignore[misc]
        when.append(stage.seconds)

    pauses = [round(b - a, 1) for a, b in pairwise(when)]
    assert pauses == [1.3, 2.3, 4.3, 8.3, 16.3, 20.3]  # a tenth of a second to gather others


def test_an_instance_that_takes_long_to_go_is_waited_for() -> None:
    stage = Ending()
    bought = dict(stage.cloud.bought)

    stage.interrupt()
    stage.world.run_until(lambda: not stage.cloud.bought, at_most=300)
    stage.cloud.bought |= bought
    stage.run(60)
    assert stage.told() == ["NodeCordoned", "NodeDrained"]
    stage.cloud.bought.clear()
    stage.run(10)

    assert stage.told()[-1] == "InstanceTerminated"
    stage.assert_all_gone()


def test_an_instance_too_new_to_be_listed_is_not_taken_for_gone() -> None:
    stage = Ending()
    stage.add("c2", conditions=())
    stage.cloud.invisible["i-c2"] = None

    stage.interrupt(name="c2")
    stage.run(80)
    assert [m.claim.name for m in stage.observer.of(InstanceTerminated)] == []
    stage.run(20)

    assert [m.claim.name for m in stage.observer.of(InstanceTerminated)] == ["c2"]


# --- claims without an instance


def unlaunched(stage: Ending, *, marked: bool) -> None:
    annotations = {labels.LAUNCH: "5f1e/0/x"} if marked else {}
    stage.api.apply(replace(claim("new", version=0, annotations=annotations), uid="", finalizers=OURS))
    stage.api.delete("NodeClaim", "new")


def names(stage: Ending) -> list[str]:
    return [c.name for c in stage.api.claims()]


def test_a_claim_nobody_marked_is_let_go_at_once() -> None:
    stage = Ending()

    unlaunched(stage, marked=False)
    stage.run(1)

    assert names(stage) == ["c1"]


def test_a_marked_claim_without_an_instance_is_let_go_when_that_is_sure() -> None:
    stage = Ending()

    unlaunched(stage, marked=True)
    stage.run(89)
    assert names(stage) == ["c1", "new"]
    stage.run(10)

    assert names(stage) == ["c1"]
    assert stage.cloud.troubles.calls[0] == "launched_by"


def test_what_was_bought_for_a_marked_claim_is_found_and_terminated() -> None:
    stage = Ending()
    stage.cloud.bought["i-9"] = instance("i-9", tags={LAUNCH_TAG: "5f1e"})

    unlaunched(stage, marked=True)
    stage.run(120)

    assert names(stage) == ["c1"]
    assert sorted(stage.cloud.bought) == ["i-c1"]


def test_what_was_found_is_not_taken_for_nothing_where_it_is_heard_of_late() -> None:
    stage = Ending()
    stage.cloud.bought["i-9"] = instance("i-9", tags={LAUNCH_TAG: "5f1e"})
    unlaunched(stage, marked=True)
    stage.views.to = Probe()
    stage.run(180)
    assert names(stage) == ["c1", "new"]

    stage.views.to = stage.actor
    stage.views.tell_all()
    stage.run(60)

    assert names(stage) == ["c1"]
    assert sorted(stage.cloud.bought) == ["i-c1"]


def test_a_look_that_fails_is_made_again() -> None:
    stage = Ending()
    stage.cloud.bought["i-9"] = instance("i-9", tags={LAUNCH_TAG: "5f1e"})
    stage.cloud.troubles.fail("launched_by", AWAY, times=2)

    unlaunched(stage, marked=True)
    stage.run(120)

    assert sorted(stage.cloud.bought) == ["i-c1"]


# --- daemons, which put up with a cordon


@pytest.mark.parametrize("generation", [Generation.V1ALPHA5, Generation.V1])
def test_daemons_that_would_come_back_to_a_cordoned_node_do_not_hold_up_its_end(
    generation: Generation,
) -> None:
    stage = Ending(generation=generation)
    stage.api.apply(DaemonSet(uid="", name="logs", spec=spec()))
    stage.api.patch_node("node-c1", NodePatch(unschedulable=True))
    stage.run(5)

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    stage.assert_all_gone()
    assert len(moved(stage)) == (0 if generation is Generation.V1ALPHA5 else 1)


# --- machines that are gone too early


def not_ready(stage: Ending) -> None:
    """Let the kubelet of c1 be heard of no more."""
    stage.api.set_node_condition("node-c1", Condition(READY, Status.UNKNOWN))


@pytest.mark.parametrize("away", [False, True], ids=["", "EC2 is away at first"])
def test_nobody_waits_for_the_pods_of_a_machine_that_is_gone(*, away: bool) -> None:
    stage = Ending()
    stage.pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})
    if away:
        stage.cloud.troubles.fail("instances", AWAY)
    stage.api.delete("NodeClaim", "c1")
    stage.run(20)
    assert stage.claim() is not None

    stage.cloud.bought.clear()
    not_ready(stage)
    stage.run(60)

    assert stage.claim() is None
    assert [kind for kind in stage.told() if kind != "NodeCordoned"] == ["NodeDrained", "InstanceTerminated"]


@pytest.mark.parametrize("gone", [False, True], ids=["its machine runs", "its kubelet does"])
def test_a_machine_that_runs_or_a_kubelet_that_is_heard_is_not_given_up(*, gone: bool) -> None:
    stage = Ending()
    stage.pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})
    stage.api.delete("NodeClaim", "c1")
    stage.run(20)

    if gone:
        stage.cloud.bought.clear()
    else:
        not_ready(stage)
    stage.run(600)

    assert stage.claim() is not None
    looks = stage.cloud.troubles.calls.count("instances")
    assert looks == 0 if gone else 15 <= looks <= 25
