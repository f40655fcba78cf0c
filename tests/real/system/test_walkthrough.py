from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines
from tests.real.system.traces import tree
from tests.real.system.walkthrough import (
    decisions,
    ending,
    expect_whole,
    stored,
    up,
)


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab, jaeger: Jaeger) -> Iterator[Scene]:
    there = Scene(control_plane, lab, jaeger)
    there.cluster.install()
    with there.controller, machines(there, boot_seconds=1):
        yield there
    there.cluster.clear()


def gone(scene: Scene) -> bool:
    return not (scene.cluster.nodes() or scene.cluster.claims() or scene.instances())


def test_five_pods_get_one_spot_node_that_goes_when_they_do_and_one_trace_tells_why(scene: Scene) -> None:
    instance = up(scene)

    assert instance["InstanceLifecycle"] == "spot"
    [decision] = decisions(scene)
    spans = stored(scene, decision, "decide", "EC2/CreateFleet", "register", "initialize", "bind")
    expect_whole(scene, spans)
    named = {span.name: span for span in spans}
    order = ["batch", "select", "pack", "launch", "register", "initialize"]
    assert all(named[a].end <= named[b].end for a, b in pairwise(order)), tree(spans)
    assert named["EC2/CreateFleet"].parent == named["launch"].id
    assert named["bind"].tags["treenail.pods"] == 5
    assert named["bind"].parent == named["decide"].id

    scene.cluster.scale("inflate", 0)
    eventually(lambda: gone(scene), scene.summary, within=180)
    [ended] = scene.controller.said("deleted node")
    spans = stored(scene, ended["trace_id"], "disrupt", "cordon", "drain", "terminate")
    expect_whole(scene, spans)


def test_a_node_with_a_spot_warning_is_drained_and_replaced_and_its_trace_leads_to_the_decision(
    scene: Scene,
) -> None:
    old = up(scene)

    scene.lab.spot_warning(old["InstanceId"])

    def replaced() -> bool:
        left = [i["InstanceId"] for i in scene.instances()]
        return scene.cluster.running() == 5 and left != [] and old["InstanceId"] not in left

    eventually(replaced, scene.summary, within=120)
    eventually(lambda: bool(scene.controller.said("deleted node")), scene.summary, within=120)
    # Pods that come back one by one may be decided on in two goes; nothing is bought for them twice.
    assert len(scene.bought()) - 1 == len(scene.instances())
    [ended] = scene.controller.said("deleted node")
    spans = stored(scene, ended["trace_id"], *ending(scene))
    expect_whole(scene, spans)
    replacing = decisions(scene)[1]
    assert replacing in {trace_id for span in spans for trace_id, _ in span.links}, tree(spans)
