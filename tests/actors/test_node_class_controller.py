from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.builders import DEFAULT_CLASS, claim, node_class, node_pool
from tests.probes import Probe
from treenail.actors.node_class_controller import NodeClassController
from treenail.actors.runtime.base import NullRef
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import SUBNETS_READY, NodeClassStatus, NodeClassStatusSeen
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.nodes import Condition, NodeClaim, Status

FINALIZER = "karpenter.k8s.aws/termination"
LACKING = NodeClassStatus(conditions=(Condition(SUBNETS_READY, Status.FALSE, "SubnetsNotFound", "none"),))


class Keeping(Stage):
    """A keeper, over the API and a cloud whose calls are counted."""

    def __init__(self, *there: NodeClass | NodeClaim) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world)
        self.api.apply(*there)
        self.reporter = Probe()
        self.disruptors: dict[str, Probe] = {}
        self.keeper: Any = self.host(
            lambda runtime: NodeClassController(
                runtime,
                sizer=NullRef(),
                reporter=self.reporter,
                disruptor=self._disruptor,
                reader=self.api,
                writer=self.api,
                cloud=self.cloud,
            )
        )

    def _disruptor(self, pool: str) -> Probe:
        return self.disruptors.setdefault(pool, Probe())

    def see(self, *, seconds: float = 2) -> None:
        """Tell which node classes there are, as the watch would."""
        self.keeper.tell(PoolsSeen(pools=(), node_classes=self.classes()))
        self.run(seconds)

    def classes(self) -> tuple[NodeClass, ...]:
        return self.api.objects(NodeClass)

    def asked(self, call: str) -> int:
        """Return how often the cloud was asked for something."""
        return sum(made.partition(" ")[0] == call for made in self.cloud.troubles.calls)

    def delete(self) -> None:
        self.api.delete("EC2NodeClass", "default")
        self.see()

    def events(self) -> list[tuple[str, str]]:
        return [(record.event.reason, record.event.message) for record in self.api.events()]


def test_disruptors_of_pools_that_name_a_class_hear_how_it_stands() -> None:
    stage = Keeping(node_class())
    elsewhere = replace(node_pool("other"), node_class=replace(DEFAULT_CLASS, name="other"))

    stage.keeper.tell(PoolsSeen(pools=(node_pool(), elsewhere), node_classes=stage.classes()))
    stage.run(2)

    (stood,) = stage.disruptors["default"].of(NodeClassStatusSeen)
    assert stood.node_class.ref == DEFAULT_CLASS
    assert list(stage.disruptors) == ["default"]


def test_a_class_is_held_and_then_looked_up() -> None:
    stage = Keeping(node_class())

    stage.see()

    (there,) = stage.classes()
    assert there.finalizers == (FINALIZER,)
    (stood,) = stage.reporter.of(NodeClassStatusSeen)
    assert (stood.node_class.ref, stood.status) == (DEFAULT_CLASS, stage.cloud.stands)


def test_a_class_that_says_the_same_is_not_looked_up_again_but_now_and_then() -> None:
    stage = Keeping(node_class())
    stage.see()

    stage.see()
    assert stage.asked("node_class_status") == 1
    stage.run(1200)

    assert stage.asked("node_class_status") == 5


def test_a_class_that_says_something_else_is_looked_up_at_once() -> None:
    stage = Keeping(node_class())
    stage.see()

    stage.api.apply(replace(node_class(), role="other"))
    stage.see()

    assert [stood.node_class.role for stood in stage.reporter.of(NodeClassStatusSeen)] == ["", "other"]


def test_a_class_that_lacks_something_is_looked_up_every_half_minute() -> None:
    stage = Keeping(node_class())
    stage.cloud.stands = LACKING

    stage.see(seconds=0)
    stage.run(100)

    assert stage.asked("node_class_status") == 4


def test_only_classes_that_ask_for_things_to_be_made_are_held() -> None:
    old = replace(node_class(), ref=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "old"))
    within = replace(node_class(), ref=NodeClassRef("karpenter.sh", "Provisioner", "within"))
    stage = Keeping(old, within)

    stage.see()

    assert all(there.finalizers == () for there in stage.classes())
    assert [stood.node_class.ref.name for stood in stage.reporter.of(NodeClassStatusSeen)] == ["old"]


def test_a_class_that_cannot_be_held_yet_is_looked_up_and_held_later() -> None:
    stage = Keeping(node_class())
    stage.api.unavailable_until(20)

    stage.see()
    assert len(stage.reporter.of(NodeClassStatusSeen)) == 1
    stage.run(40)

    assert stage.classes()[0].finalizers == (FINALIZER,)
    assert len(stage.logged("cannot hold node class")) == 1


def test_a_class_whose_finalizer_somebody_took_off_is_held_again_at_the_next_look() -> None:
    stage = Keeping(node_class())
    stage.see()
    about = ObjectRef(kind="EC2NodeClass", name="default")
    stage.api.release_node_class(about, FINALIZER)

    stage.see()
    assert stage.classes()[0].finalizers == ()
    stage.run(300)

    assert stage.classes()[0].finalizers == (FINALIZER,)


def test_a_class_nobody_uses_goes_after_what_was_made_for_it() -> None:
    stage = Keeping(node_class())
    stage.see()

    stage.delete()

    assert stage.classes() == ()
    assert stage.asked("release") == 1


def test_a_class_waits_for_the_claims_that_use_it_and_says_so_once() -> None:
    stage = Keeping(node_class(), claim("c-1"), claim("c-2"))
    stage.see()

    stage.delete()
    stage.run(60)
    assert [there.deleting for there in stage.classes()] == [True]
    assert stage.asked("release") == 0
    assert stage.events() == [
        ("WaitingOnNodeClaimTermination", "Waiting on NodeClaim termination for c-1, c-2")
    ]
    for name in ("c-1", "c-2"):
        stage.api.delete("NodeClaim", name)
    stage.run(20)

    assert stage.classes() == ()
    assert stage.asked("release") == 1


def test_claims_of_other_classes_hold_nothing_up_and_those_that_do_not_say_do() -> None:
    other = replace(claim("c-1"), node_class=replace(DEFAULT_CLASS, name="other"))
    unknown = replace(claim("c-2"), node_class=NodeClassRef("", "", ""))
    stage = Keeping(node_class(), other)
    stage.see()
    stage.api.apply(unknown)

    stage.delete()
    assert stage.asked("release") == 0
    stage.api.delete("NodeClaim", "c-2")
    stage.run(20)

    assert stage.classes() == ()


@pytest.mark.parametrize("call", ["release", "list_claims"])
def test_a_class_stays_until_all_could_be_cleared_away(call: str) -> None:
    stage = Keeping(node_class())
    stage.see()
    troubles = stage.cloud.troubles if call == "release" else stage.api.troubles
    troubles.fail(call, UnavailableError("no answer"), times=2)

    stage.delete()
    assert [there.deleting for there in stage.classes()] == [True]
    stage.run(40)

    assert stage.classes() == ()
    assert len(stage.logged("cannot clear away after node class")) == 2


def test_a_process_that_starts_sees_out_what_the_one_before_it_held() -> None:
    held = replace(node_class(), finalizers=(FINALIZER,))
    stage = Keeping(held)
    stage.api.delete("EC2NodeClass", "default")

    stage.see()

    assert stage.classes() == ()
    assert (stage.asked("release"), stage.asked("node_class_status")) == (1, 0)


def test_a_class_that_somebody_else_holds_is_cleared_away_after_once() -> None:
    stage = Keeping(replace(node_class(), finalizers=("example.com/mine",)))
    stage.see()

    stage.delete()
    stage.see()
    stage.run(120)

    assert [there.finalizers for there in stage.classes()] == [("example.com/mine",)]
    assert stage.asked("release") == 1


@pytest.mark.parametrize("error", [None, UnavailableError("no answer"), NotFoundError("gone")])
def test_profiles_are_collected_every_half_hour_whatever_comes_of_it(error: PortError | None) -> None:
    stage = Keeping(node_class())
    stage.cloud.leftovers = ("demo_1",)
    if error is not None:
        stage.cloud.troubles.fail("collect_profiles", error)

    stage.run(7200)
    assert stage.asked("collect_profiles") == 0
    stage.see()
    stage.run(3700)

    assert stage.cloud.troubles.calls.count("collect_profiles default") == 2
    assert len(stage.logged("garbage collected instance profiles")) == (2 if error is None else 1)


def test_a_class_is_looked_up_for_its_pools_and_again_when_it_gets_the_first() -> None:
    stage = Keeping(node_class())
    stage.see()
    assert stage.cloud.pools_of == {"default": ()}
    looks = stage.asked("node_class_status")

    elsewhere = replace(node_pool("other"), node_class=replace(DEFAULT_CLASS, name="other"))
    stage.keeper.tell(PoolsSeen(pools=(node_pool("web"), elsewhere), node_classes=stage.classes()))
    stage.run(2)

    assert stage.cloud.pools_of == {"default": ("web",)}
    assert stage.asked("node_class_status") == looks + 1
