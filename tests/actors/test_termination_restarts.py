from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.ending import Ending
from tests.builders import spec
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import PodVolume
from treenail.domain.model.storage import PersistentVolume, PersistentVolumeClaim
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.termination.drain import InstanceTerminated

EXCLUDED = labels.EXCLUDE_FROM_LOAD_BALANCERS


@pytest.mark.parametrize("when", [n / 4 for n in range(1, 44)])
@pytest.mark.parametrize("cause", [Cause.EMPTY, Cause.DELETED])
def test_a_restart_at_any_moment_loses_nothing(cause: Cause, when: float) -> None:
    stage = Ending()
    if cause is Cause.DELETED:
        stage.pod("p1")
    stage.disrupt(cause)
    stage.run(when)
    of = stage.claim()
    decided = of is None or of.leaving

    stage.restart()
    stage.run(60)

    if decided:
        stage.assert_all_gone()
        assert [m.cause for m in stage.observer.of(InstanceTerminated)][-1:] in ([cause], [])
    else:  # nobody had said so in the API yet: it is as if nothing had been decided
        there = stage.node()
        assert there is not None
        assert (there.taints, EXCLUDED in there.labels) == ((), False)
        assert len(stage.cloud.bought) == 1


def test_the_trace_of_an_end_goes_on_after_a_restart() -> None:
    stage = Ending()
    stage.pod("p1", deleting_since=None)
    stage.interrupt()
    stage.world.run_until(lambda: "delete_claim c1" in stage.calls(), at_most=150)

    stage.restart()
    stage.decide()
    stage.run(60)

    process = interruption_context("i-c1", Cause.SPOT_INTERRUPTED).child("process")
    assert {s.parent for s in stage.telemetry.spans()} == {process}
    assert stage.observer.of(InstanceTerminated)[0].cause is Cause.SPOT_INTERRUPTED


@pytest.mark.parametrize("cause", [Cause.DELETED, Cause.SPOT_INTERRUPTED])
def test_the_volumes_of_pods_that_left_before_a_restart_are_waited_for_after_it(cause: Cause) -> None:
    stage = Ending(settings=ClusterSettings(stop=(0.2, 2.0), detach=(30.0, 30.0)))
    stage.api.apply(
        PersistentVolume(name="pv-data", driver="ebs.csi.aws.com", handle="vol-1"),
        PersistentVolumeClaim(name="data", volume_name="pv-data", bound=True),
    )
    volumes = (PodVolume(name="data", claim_name="data"),)
    stage.pod("p1", spec=replace(spec(), volumes=volumes), started_at=stage.now())
    stage.run(3)
    began = stage.seconds
    if cause is Cause.DELETED:
        stage.api.delete("NodeClaim", "c1")
    else:
        stage.interrupt(seconds=120)
    stage.run(15)
    assert [pod.name for pod in stage.api.pods()] == []

    stage.restart()
    stage.world.run_until(lambda: bool(stage.cloud.troubles.calls), at_most=300)

    assert 30 <= stage.seconds - began < 50
    stage.run(60)
    stage.assert_all_gone()


def test_a_mark_of_a_decision_that_died_is_taken_off() -> None:
    stage = Ending()
    stage.disrupt()
    stage.run(2)

    stage.restart()
    stage.run(9)
    there = stage.node()
    assert there is not None
    assert DISRUPTED in there.taints
    stage.run(2)

    there = stage.node()
    assert there is not None
    assert there.taints == ()


def test_a_mark_that_cannot_be_taken_off_is_tried_again() -> None:
    stage = Ending()
    stage.api.patch_node("node-c1", NodePatch(add_taints=(DISRUPTED,)))
    stage.api.faults = replace(stage.api.faults, unavailable=1.0)
    stage.run(15)
    stage.api.faults = replace(stage.api.faults, unavailable=0.0)

    stage.run(10)

    there = stage.node()
    assert there is not None
    assert there.taints == ()


def test_a_mark_of_a_node_that_leaves_is_let_on() -> None:
    stage = Ending()
    stage.api.patch_node("node-c1", NodePatch(add_taints=(DISRUPTED,)))
    stage.run(5)

    stage.pod("p1", annotations={labels.DO_NOT_DISRUPT: "true"})
    stage.disrupt(Cause.DELETED)
    stage.run(60)

    there = stage.node()
    assert there is not None
    assert DISRUPTED in there.taints
    assert stage.logged("removing mark of an abandoned disruption") == []


def test_a_mark_of_a_node_that_is_gone_is_forgotten() -> None:
    stage = Ending()
    stage.api.patch_node("node-c1", NodePatch(add_taints=(DISRUPTED,)))
    stage.run(1)
    stage.api.delete("NodeClaim", "c1")

    stage.run(60)

    stage.assert_all_gone()
