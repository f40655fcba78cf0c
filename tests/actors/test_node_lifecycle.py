from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.actors.views import Views
from tests.builders import (
    at,
    claim,
    conditions,
    decision,
    instance,
    instance_type,
    node,
    node_class,
    node_pool,
    resources,
)
from tests.probes import Probe
from treenail.actors.node_lifecycle import NodeLifecycle
from treenail.domain import labels
from treenail.domain.disruption import Cause
from treenail.domain.fleets import LAUNCH_TAG
from treenail.domain.launching import NodeLaunched
from treenail.domain.lifecycle import NodeNeverCame
from treenail.domain.nodes import LAUNCHED, Node, NodeClaim, NodeView
from treenail.domain.ports import ConflictError, NodePatch, UnavailableError
from treenail.domain.taints import NOT_READY, UNREGISTERED, Effect, Taint
from treenail.domain.watching import NodeChanged

AWAY = UnavailableError("no answer")
ROOM = resources(cpu=4, pods=10)
PROVIDER = "aws:///a/i-1"
BOOT = Taint("boot", Effect.NO_SCHEDULE)


class Living(Stage):
    """A lifecycle with an API server it hears of, and a cloud."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world, instance_type("m5.large", 2, price=0.1))
        self.api.apply(node_pool(), node_class())
        self.observer = Probe()
        self.actor: Any = self.start()
        self.views = Views(self.api, self.actor)

    def start(self) -> Any:
        return self.host(
            lambda runtime: NodeLifecycle(
                runtime, observer=self.observer, reader=self.api, writer=self.api, cloud=self.cloud
            )
        )

    def restart(self) -> None:
        self.kill()
        self.actor = self.views.to = self.start()
        self.views.tell_all()

    def launch(self, name: str = "c1", **fields: Any) -> NodeClaim:
        """Put a launched claim there, whose instance runs."""
        traced = {labels.TRACEPARENT: decision().context.traceparent}
        bare = claim(name, version=0, provider_id=PROVIDER, room=ROOM, annotations=traced)
        there = replace(
            bare, uid="", created_at=self.now(), conditions=conditions(LAUNCHED, since=self.seconds), **fields
        )
        self.cloud.bought["i-1"] = instance("i-1", launched=self.seconds)
        self.api.apply(there)
        return self.claim(name)

    def join(self, *, ready_after: float = 0) -> None:
        """Let the node of the instance join, and be ready so many seconds later."""
        self.api.join(
            node_name="n1",
            provider_id=PROVIDER,
            labels={},
            taints=(UNREGISTERED,),
            capacity=ROOM,
            allocatable=ROOM,
            ready_after=ready_after,
        )
        self.run(0)

    def claim(self, name: str = "c1") -> NodeClaim:
        return next(c for c in self.api.claims() if c.name == name)

    def node(self) -> Node:
        (there,) = self.api.nodes()
        return there

    def told(self) -> list[str]:
        return [type(m).__name__ for m in self.observer.received]


# --- into use


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
    counted = stage.telemetry.counted("karpenter_nodeclaims_disrupted_total", reason="registration_timeout")
    assert counted == 1


def test_a_claim_is_given_back_once_even_if_the_watch_is_late() -> None:
    stage = Living()
    stage.launch(finalizers=(labels.TERMINATION_FINALIZER,))
    old = stage.claim()
    stage.run(901)

    stage.actor.tell(NodeChanged(name="c1", view=NodeView(claim=old)))
    stage.run(10)

    assert len(stage.observer.of(NodeNeverCame)) == 1


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


# --- garbage


def test_an_instance_without_a_claim_is_terminated() -> None:
    stage = Living()
    stage.cloud.bought["i-9"] = instance("i-9")

    stage.run(29.9)
    assert sorted(stage.cloud.bought) == ["i-9"]
    stage.run(5)

    assert stage.cloud.bought == {}
    assert stage.logged("garbage collecting instances") == [{"instances": ["i-9"]}]


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

    assert stage.api.claims() == ()
    assert stage.logged("garbage collected") == [{"nodeclaim": "c1", "cause": "garbage_collected"}]


def test_nothing_is_garbage_when_all_is_well() -> None:
    stage = Living()
    stage.launch()
    stage.join()

    stage.run(1000)

    assert (len(stage.api.claims()), len(stage.cloud.bought)) == (1, 1)
    assert stage.cloud.troubles.calls.count("instances") == 9


@pytest.mark.parametrize("call", ["instances", "list_claims", "terminate", "delete_claim"])
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
    order: list[str] = []
    stage.cloud.troubles.calls = stage.api.troubles.calls = order

    stage.run(60)

    assert order == ["instances", "list_claims"]
