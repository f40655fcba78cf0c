from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.cluster import ROOT
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines

INFLATE = (ROOT / "examples" / "001-inflate.yaml").read_text()


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab, jaeger: Jaeger) -> Iterator[Scene]:
    there = Scene(control_plane, lab, jaeger)
    there.cluster.install()
    with there.controller, machines(there):
        yield there
    there.cluster.clear()


def manifests(scene: Scene) -> str:
    """The walkthrough, for the laboratory's cluster."""
    profile = str(scene.lab.estate["instance_profile"])
    return INFLATE.replace("KarpenterNodeInstanceProfile-demo", profile).replace(
        "kubernetes.io/cluster/demo", f"kubernetes.io/cluster/{scene.lab.cluster}"
    )


def test_five_pods_get_one_spot_node_and_it_goes_when_they_do(scene: Scene) -> None:
    scene.cluster.apply(manifests(scene))

    eventually(lambda: scene.cluster.running() == 5, scene.summary, within=90)
    [instance] = scene.instances()
    assert instance["InstanceLifecycle"] == "spot"

    scene.cluster.scale("inflate", 0)
    eventually(
        lambda: not (scene.cluster.nodes() or scene.cluster.claims() or scene.instances()),
        scene.summary,
        within=120,
    )
