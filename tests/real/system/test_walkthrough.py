from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.cluster import ROOT
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines
from tests.real.system.traces import StoredSpan, orphans, spans_of, tree

INFLATE = (ROOT / "examples" / "001-inflate.yaml").read_text()
ENDING = ("receive interruptions", "process interruptions", "cordon", "drain", "terminate")
METRIC_OF_LOSSES = "treenail_spans_dropped_total"


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab, jaeger: Jaeger) -> Iterator[Scene]:
    there = Scene(control_plane, lab, jaeger)
    there.cluster.install()
    with there.controller, machines(there, boot_seconds=1):
        yield there
    there.cluster.clear()


def manifests(scene: Scene) -> str:
    """The walkthrough, for the laboratory's cluster."""
    profile = str(scene.lab.estate["instance_profile"])
    return INFLATE.replace("KarpenterNodeInstanceProfile-demo", profile).replace(
        "kubernetes.io/cluster/demo", f"kubernetes.io/cluster/{scene.lab.cluster}"
    )


def up(scene: Scene) -> dict[str, Any]:
    """Apply the walkthrough, wait until its pods run, and return the only instance."""
    scene.cluster.apply(manifests(scene))
    eventually(lambda: scene.cluster.running() == 5, scene.summary, within=120)
    [instance] = scene.instances()
    return instance


def gone(scene: Scene) -> bool:
    return not (scene.cluster.nodes() or scene.cluster.claims() or scene.instances())


def stored(scene: Scene, trace_id: str, *names: str) -> list[StoredSpan]:
    """Return a trace as Jaeger has it, once it has spans of these names."""
    jaeger = scene.jaeger
    assert jaeger is not None
    spans: list[StoredSpan] = []

    def complete() -> bool:
        nonlocal spans
        spans = spans_of(jaeger.trace(trace_id))
        return set(names) <= {span.name for span in spans}

    eventually(complete, lambda: f"{trace_id} lacks some of {names}:\n{tree(spans)}", within=60)
    return spans


def decisions(scene: Scene) -> list[str]:
    """Return the trace ids of all decisions with claims, in order."""
    return [line["trace_id"] for line in scene.controller.said("decided on pods") if line["nodeclaims"]]


def expect_whole(scene: Scene, spans: list[StoredSpan]) -> None:
    assert orphans(spans) == [], tree(spans)
    assert len({span.id for span in spans}) == len(spans), tree(spans)
    assert sum(not span.parent for span in spans) == 1, tree(spans)
    assert not scene.controller.metric(METRIC_OF_LOSSES)


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
    eventually(lambda: len(scene.cluster.nodes()) == 1, scene.summary, within=60)
    eventually(lambda: bool(scene.controller.said("deleted node")), scene.summary, within=120)
    assert len(scene.bought()) == 2
    [ended] = scene.controller.said("deleted node")
    spans = stored(scene, ended["trace_id"], *ENDING)
    expect_whole(scene, spans)
    replacing = decisions(scene)[1]
    assert replacing in {trace_id for span in spans for trace_id, _ in span.links}, tree(spans)
