from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from tests.real.system.older_walkthroughs import (
    SETTINGS,
    daemon_set_path,
    eks_daemons,
    global_settings,
    objects,
    tag_as_eksctl_does,
)
from tests.real.system.scene import Scene, machines


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    """A cluster with the settings of an old installation, and a controller that is told nothing of them."""
    settings = global_settings(
        clusterName=lab.cluster,
        defaultInstanceProfile=str(lab.estate["instance_profile"]),
        interruptionQueueName=lab.estate["queue_url"].rpartition("/")[2],
        tags='{"cost-centre": "42"}',
    )
    there = Scene(control_plane, lab, None, CLUSTER_NAME="", INTERRUPTION_QUEUE="")
    there.cluster.install()
    tag_as_eksctl_does(lab)
    assert control_plane.request("POST", SETTINGS, settings)[0] == 201
    try:
        with there.controller, machines(there, boot_seconds=1):
            yield there
    finally:
        control_plane.request("DELETE", f"{SETTINGS}/karpenter-global-settings")
        there.cluster.clear()


@pytest.fixture
def daemons(scene: Scene) -> Iterator[None]:
    """What an EKS cluster runs on every node."""
    plane, all_of_them = scene.cluster.plane, eks_daemons()
    for daemon_set in all_of_them.values():
        assert plane.request("POST", daemon_set_path(), daemon_set)[0] == 201
    yield
    for name in all_of_them:
        plane.request("DELETE", daemon_set_path(name))


@pytest.mark.usefixtures("daemons")
def test_of_two_provisioners_the_one_that_has_the_type_serves_the_pod(scene: Scene) -> None:
    cluster = scene.cluster
    cluster.apply(*objects(scene.lab, "000-multi-provisioner"))
    eventually(lambda: cluster.running() == 5, scene.summary, within=120)

    [machine] = cluster.all("karpenter.sh/v1alpha5", "Machine")
    [node] = cluster.nodes()
    [instance] = scene.instances()
    assert machine["spec"]["resources"]["requests"] == {"cpu": "1155m", "memory": "120Mi", "pods": "5"}
    assert instance["InstanceType"] == "t3.large"
    labels = node["metadata"]["labels"]
    assert labels["karpenter.sh/provisioner-name"] == "team-provisioner"
    assert labels["eks-immersion-team"] == "team-provisioner"
    # The template names neither a profile nor a role: the settings do.
    assert instance["IamInstanceProfile"]["Arn"].endswith(f"/{scene.lab.estate['instance_profile']}")
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert (tags["cost-centre"], tags["managed-by"]) == ("42", "karpenter")


def test_every_node_comes_from_the_heavier_provisioner(scene: Scene) -> None:
    cluster = scene.cluster
    cluster.apply(*objects(scene.lab, "000-weight"))
    eventually(lambda: cluster.running() == 8, scene.summary, within=120)

    assert {i["InstanceType"].partition(".")[0][0] for i in scene.instances()} == {"t"}
    pools = {n["metadata"]["labels"]["karpenter.sh/provisioner-name"] for n in cluster.nodes()}
    assert pools == {"weight-provisioner"}
    default = next(
        p for p in cluster.all("karpenter.sh/v1alpha5", "Provisioner") if "weight" not in p["spec"]
    )
    assert default["metadata"]["name"] == "default"

    cluster.scale("inflate", 0)
    eventually(lambda: not (cluster.nodes() or scene.instances()), scene.summary, within=180)
