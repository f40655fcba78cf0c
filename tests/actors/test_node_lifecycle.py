from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.living import AWAY, BOOT, PROVIDER, Living
from tests.actors.troubles import Api
from tests.builders import (
    at,
    changed,
    claim,
    decision,
    instance,
    node,
    resources,
)
from treenail.adapters.fake.cluster import FakeCluster
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.launch.launching import NodeLaunched
from treenail.domain.lifecycle.lifecycle import NodeNeverCame
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import ConflictError
from treenail.domain.model.nodes import REGISTERED, NodeView, Status, condition_of
from treenail.domain.model.observed_capacity import MemoryObserved, ObservedCapacity, Sizes
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import NOT_READY
from treenail.domain.model.template_hash import SIZED_BY

# --- into use

TYPE_LABEL = {labels.INSTANCE_TYPE: "m5.large"}
SEVEN = resources(cpu=4, memory="7Gi", pods=10)


def learned(stage: Living) -> Sizes:
    return stage.cloud.learned.of({"ami-1"}, "made", stage.now())


def observations(stage: Living) -> list[str]:
    return [type(m).__name__ for m in stage.selector.received]


def test_the_memory_of_a_node_is_learned_when_it_is_registered_and_never_before() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1")
    stage.api.troubles.fail("patch_claim", AWAY, times=2)
    stage.join(room=SEVEN, ready_after=3600)
    assert learned(stage) == Sizes()

    stage.run(30)

    assert learned(stage) == Sizes(memory=(("m5.large", 7 * 2**30),))


def test_the_room_of_a_node_is_learned_when_it_comes_into_use_and_never_before() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1", annotations={SIZED_BY: "made"})
    stage.join(room=SEVEN, ready_after=20)
    stage.run(19)
    assert learned(stage).room == ()

    stage.run(11)

    assert learned(stage).room == (("m5.large", SEVEN),)
    assert observations(stage) == ["MemoryObserved", "AllocatableObserved"]


def resize(stage: Living, room: Resources) -> None:
    """Let the node have another room for pods."""
    there = stage.views.view("c1")
    assert there is not None
    assert there.initialized
    node = replace(stage.node(), allocatable=room, resource_version=stage.node().resource_version + 1)
    stage.actor.tell(changed(replace(there, node=node)))
    stage.run(1)


def test_what_a_node_in_use_comes_to_have_later_is_learned() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1", annotations={SIZED_BY: "made"})
    stage.join(room=SEVEN)
    stage.run(30)

    more = resources(cpu=4, memory="7Gi", pods=58)
    resize(stage, more)

    assert learned(stage).room == (("m5.large", more),)


def test_what_a_node_in_use_has_no_more_teaches_nothing() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1", annotations={SIZED_BY: "made"})
    stage.join(room=SEVEN)
    stage.run(30)

    resize(stage, resources(cpu=1, memory="1Gi", pods=1))

    assert learned(stage).room == (("m5.large", SEVEN),)


def test_what_was_learned_is_told_where_it_is_news() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1")

    stage.join(room=SEVEN)
    stage.run(30)

    assert stage.selector.received == [
        MemoryObserved(instance_type="m5.large", image_id="ami-1", memory=7 * 2**30)
    ]


def test_after_a_restart_the_nodes_there_are_teach_again() -> None:
    stage = Living()
    stage.launch(labels=TYPE_LABEL, image_id="ami-1", annotations={SIZED_BY: "made"})
    stage.join(room=SEVEN)
    stage.run(30)

    stage.cloud.learned = ObservedCapacity()
    stage.restart()
    stage.run(1)

    assert learned(stage) == Sizes(memory=(("m5.large", 7 * 2**30),), room=(("m5.large", SEVEN),))


def test_a_node_that_joins_is_registered_and_initialized_at_once() -> None:
    stage = Living()
    stage.launch(labels={"tier": "web"})
    stage.run(30)

    stage.join()
    stage.run(2)

    assert stage.told() == ["NodeRegistered", "NodeInitialized"]
    there, of = stage.node(), stage.claim()
    assert there.labels["tier"] == "web"
    assert there.labels[labels.REGISTERED] == there.labels[labels.INITIALIZED] == "true"
    assert there.taints == ()
    assert there.finalizers == (labels.TERMINATION_FINALIZER,)
    assert [(o.kind, o.uid) for o in there.owners] == [("NodeClaim", of.uid)]
    assert (of.node_name, of.registered, of.initialized) == ("n1", True, True)


def test_what_happened_is_told_once_however_often_the_node_changes() -> None:
    stage = Living()
    stage.launch()
    stage.join()

    for n in range(20):
        patch = NodePatch(annotations={"beat": str(n)})
        stage.at(n / 10, lambda patch=patch: Api.patch_node(stage.api, "n1", patch))  # type: ignore[misc]
    stage.run(60)

    assert stage.told() == ["NodeRegistered", "NodeInitialized"]
    assert stage.telemetry.counted("karpenter_nodes_created_total") == 1


def test_old_news_does_not_undo_what_is_known() -> None:
    stage = Living()
    old = stage.launch()
    stage.join()
    young = stage.node()
    stage.run(2)

    stage.actor.tell(NodeChanged(name="c1", view=NodeView(claim=old, node=young)))
    stage.run(10)

    assert stage.told() == ["NodeRegistered", "NodeInitialized"]


def test_which_nodes_say_they_are_one_machine_is_logged() -> None:
    stage = Living()
    claimed = stage.launch()
    both = NodeView(claim=claimed, node=node("n2", provider_id=PROVIDER), rivals=("n1",))

    stage.actor.tell(NodeChanged(name="c1", view=both))
    stage.run(1)

    lines = [line for line in stage.telemetry.logs if line.message == "claim matches several nodes"]
    assert [(line.fields["nodeclaim"], line.fields["nodes"]) for line in lines] == [("c1", ["n1", "n2"])]
    shown = condition_of(stage.claim().conditions, REGISTERED)
    assert shown is not None
    assert (shown.status, shown.reason) == (Status.FALSE, "MultipleNodesFound")
    assert stage.observer.received == []


def test_each_stage_is_traced_from_the_one_before_it() -> None:
    stage = Living()
    stage.launch()
    stage.run(30)

    stage.join(ready_after=20)
    stage.run(30)

    (register,), (initialize,) = stage.spans("register"), stage.spans("initialize")
    assert (register.parent, initialize.parent) == (decision().context, decision().context)
    assert register.start == at(0)
    assert at(30) < initialize.start <= register.end < at(31)
    assert at(50) < initialize.end < at(52)


def test_a_node_is_initialized_only_when_it_is_in_order() -> None:
    stage = Living()
    stage.launch(startup_taints=(BOOT,))
    stage.join(ready_after=60)
    stage.run(59)
    assert stage.told() == ["NodeRegistered"]
    assert stage.node().taints == (NOT_READY, BOOT)

    stage.run(60)
    assert stage.told() == ["NodeRegistered"]
    stage.api.patch_node("n1", NodePatch(remove_taints=(BOOT,)))
    stage.run(2)

    assert stage.told() == ["NodeRegistered", "NodeInitialized"]
    assert stage.node().taints == ()


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("call", ["patch_node", "patch_claim"])
@pytest.mark.parametrize("error", [AWAY, ConflictError("it changed")])
def test_a_write_that_fails_is_made_again(call: str, error: Any, *, done: bool) -> None:
    stage = Living()
    stage.launch()
    stage.api.troubles.fail(call, error, times=3, done=done)

    stage.join()
    stage.run(60)

    assert stage.claim().initialized
    assert stage.node().labels[labels.INITIALIZED] == "true"


def test_writes_that_fail_are_made_again_after_longer_and_longer_pauses() -> None:
    stage, when = Living(), []
    stage.launch()
    stage.join()
    stage.api.troubles.fail("patch_node", AWAY, times=4)
    while not stage.claim().registered:
        calls = len(stage.api.troubles.calls)
        assert stage.world.run_until(lambda n=calls: len(stage.api.troubles.calls) > n, at_most=60)  # type: ignore[misc]
        when.append(round(stage.seconds, 1))

    assert when == [0.1, 1.3, 3.5, 7.7, 15.9, 16.1]


def test_a_node_that_changes_while_it_is_written_is_written_again_as_soon_as_that_fails() -> None:
    stage = Living()
    stage.launch()
    stage.slow["kubernetes", "lifecycle", "c1"] = 0.5
    stage.join()
    stage.at(0.2, lambda: FakeCluster.patch_node(stage.api, "n1", NodePatch(annotations={"beat": "1"})))

    stage.run(1.5)

    assert stage.api.troubles.calls == ["patch_node n1", "patch_node n1"]
    assert stage.node().labels[labels.REGISTERED] == "true"


def test_a_restart_goes_on_where_the_process_before_it_died() -> None:
    stage = Living()
    stage.launch()
    stage.join()
    stage.run(0.15)

    stage.restart()
    stage.run(10)

    assert stage.claim().initialized


def test_a_launched_claim_is_looked_at_without_waiting_for_the_watch() -> None:
    stage = Living()

    stage.actor.tell(NodeLaunched(claim=claim("c1"), instance=instance()))
    stage.run(1)

    assert stage.observer.received == []


@pytest.mark.parametrize("nobodys", [True, False])
def test_what_is_not_a_written_claims_is_let_alone(*, nobodys: bool) -> None:
    stage = Living()
    view = NodeView(node=node("n1")) if nobodys else NodeView(claim=claim("c1", version=0))

    stage.actor.tell(NodeChanged(name=view.name, view=view))
    stage.run(1000)

    assert stage.observer.received == []


# --- never came


def test_a_claim_nobody_launched_is_given_back_after_five_minutes() -> None:
    stage = Living()
    stage.api.apply(replace(claim("c1", version=0), uid="", created_at=stage.now()))

    stage.run(299)
    assert [c.leaving for c in stage.api.claims()] == [False]
    stage.run(2)

    assert [(m.claim.name, m.cause) for m in stage.observer.of(NodeNeverCame)] == [
        ("c1", Cause.LAUNCH_TIMEOUT)
    ]
    assert stage.api.claims() == ()


def test_a_node_that_never_joins_is_given_back_after_fifteen_minutes() -> None:
    stage = Living()
    stage.launch(finalizers=(labels.TERMINATION_FINALIZER,))

    stage.run(899)
    assert not stage.claim().leaving
    stage.run(2)

    assert stage.claim().leaving
    (told,) = stage.observer.of(NodeNeverCame)
    assert told.cause is Cause.REGISTRATION_TIMEOUT
    given_up = ClaimGivenUp(name="c1", cause=Cause.REGISTRATION_TIMEOUT, actor="NodeLifecycle")
    assert stage.termination.received == [given_up]


def test_a_claim_is_given_back_once_even_if_the_watch_is_late() -> None:
    stage = Living()
    stage.launch(finalizers=(labels.TERMINATION_FINALIZER,))
    old = stage.claim()
    stage.run(901)

    stage.actor.tell(NodeChanged(name="c1", view=NodeView(claim=old)))
    stage.run(10)

    assert len(stage.observer.of(NodeNeverCame)) == 1
    assert {m.cause for m in stage.termination.received} == {Cause.REGISTRATION_TIMEOUT}


def test_a_claim_that_was_given_back_and_is_gone_is_forgotten() -> None:
    stage = Living()
    stage.launch(finalizers=(labels.TERMINATION_FINALIZER,))
    stage.run(901)
    Api.patch_claim(stage.api, "c1", ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    stage.run(1)

    stage.launch()
    stage.join()
    stage.run(5)

    assert stage.told() == ["NodeNeverCame", "NodeRegistered", "NodeInitialized"]


def test_a_node_that_somebody_took_away_did_come() -> None:
    stage = Living()
    stage.launch(finalizers=(labels.TERMINATION_FINALIZER,))
    stage.join()
    stage.run(1000)

    stage.api.patch_node("n1", NodePatch(remove_finalizers=stage.node().finalizers))
    stage.api.delete("Node", "n1")
    stage.run(10)

    assert stage.claim().leaving
    assert stage.termination.received == [ClaimGivenUp(name="c1", cause=Cause.DELETED, actor="")]
    assert stage.told() == ["NodeRegistered", "NodeInitialized"]


def test_a_node_that_joins_in_time_is_not_given_back() -> None:
    stage = Living()
    stage.launch()
    stage.run(899)

    stage.join()
    stage.run(60)

    assert stage.told() == ["NodeRegistered", "NodeInitialized"]


def test_a_claim_that_goes_is_not_waited_for() -> None:
    stage = Living()
    stage.launch()
    stage.run(10)

    stage.api.delete("NodeClaim", "c1")
    stage.run(1000)

    assert stage.observer.received == []
