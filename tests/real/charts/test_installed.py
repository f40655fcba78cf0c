"""Walkthroughs by the charts: with the environment they render, and the permissions they grant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.real.charts.audit import AuditLog, Permission, granted
from tests.real.charts.installation import Installation
from tests.real.charts.rendering import ROOT, Tree
from tests.real.lab.lab import Lab
from tests.real.parts.binaries import NotBuiltError, require
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system import drain_manifests
from tests.real.system.cluster import Cluster
from tests.real.system.controller import eventually
from tests.real.system.older_walkthroughs import apply_beta, objects, spot_walkthrough, tag_as_eksctl_does
from tests.real.system.scene import Scene, machines
from tests.real.system.walkthrough import inflate, up
from tests.scenarios.manifests import changed, deployment, node_pool

pytestmark = pytest.mark.xdist_group("installed by charts")
KWOK_EXAMPLE: Final = ROOT / "examples" / "005-kwok.yaml"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election"
_OWNER: Final = (
    "asked by admission, not by a request: whoever makes an object says that its owner waits for it"
)
_LOST: Final = "after an answer that was lost, or when another wrote the claim"
_VOLUMES: Final = "while a drained node holds volumes, which need a driver: test_drains has them"
# What is granted and not every walkthrough uses, and when it is used.
UNSEEN: Final = {
    "get machines.karpenter.sh": _LOST,
    "get nodeclaims.karpenter.sh": _LOST,
    "list volumeattachments.storage.k8s.io": _VOLUMES,
    "watch volumeattachments.storage.k8s.io": _VOLUMES,
    "patch events": "when an event comes again within minutes",
    "update machines.karpenter.sh/finalizers": _OWNER,
    "update nodeclaims.karpenter.sh/finalizers": _OWNER,
    "update nodepools.karpenter.sh/finalizers": _OWNER,
    "update provisioners.karpenter.sh/finalizers": _OWNER,
}
INFLATE_PODS: Final = 5
SPOT_PODS: Final = 2
WEIGHT_PODS: Final = 8
# Lists are streamed where the API server has that, by the verb `watch`; it has not everywhere.
FLAGS: Final = (
    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
    "--feature-gates=WatchList=false",
)


@dataclass(frozen=True)
class Ground:
    """A cluster of its own, on which the charts are installed."""

    plane: ControlPlane
    lab: Lab
    jaeger: Jaeger
    audit: AuditLog
    charts: Installation
    granted: set[Permission] = field(default_factory=set)

    @contextmanager
    def running(self, **settings: Any) -> Iterator[Scene]:
        """Install the charts with these settings, and run the controller as they say."""
        self.lab.reset()
        tag_as_eksctl_does(self.lab)
        self.charts.install(self._values(settings))
        scene = Scene(self.plane, self.lab, self.jaeger, self.charts.controller())
        scene.cluster.install()
        with scene.controller:
            yield scene
            scene.cluster.clear()

    def note(self) -> None:
        """Note what the charts grant as they are installed now."""
        self.granted.update(granted(self.plane))

    def _values(self, settings: Tree) -> Tree:
        own = {
            "clusterName": self.lab.cluster,
            "clusterEndpoint": self.plane.url,
            "clusterCABundle": "Q0E=",
            "awsDefaultInstanceProfile": self.lab.estate["instance_profile"],
            "interruptionQueue": self.lab.estate["queue_url"].rpartition("/")[2],
        }
        env = [{"name": name, "value": value} for name, value in self.lab.environment.items()]
        return {
            "settings": {**own, **settings},
            "controller": {"env": env, "image": {"repository": "example.test/treenail"}},
            "traces": {"endpoint": self.jaeger.otlp_http},
        }


@pytest.fixture(scope="module")
def ground(lab_process: Lab, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    try:
        require(*PARTS, "helm")
    except NotBuiltError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("charts")
    audit = AuditLog(folder)
    with ControlPlane(args={"kube-apiserver": [*audit.flags, *FLAGS]}) as plane:
        yield Ground(plane, lab_process, jaeger, audit, Installation(plane, folder))


def gone(scene: Scene) -> bool:
    return not (scene.cluster.nodes() or scene.cluster.claims() or scene.instances())


def five_pods_get_a_spot_node_that_goes_when_they_do(scene: Scene) -> None:
    up(scene)
    scene.cluster.scale("inflate", 0)
    eventually(lambda: gone(scene), scene.summary, within=180)


def a_spot_node_is_replaced_when_it_is_warned(scene: Scene) -> None:
    apply_beta(scene, spot_walkthrough(scene.lab))
    eventually(lambda: scene.cluster.running() == SPOT_PODS, scene.summary, within=150)
    [old] = scene.instances()

    scene.lab.spot_warning(old["InstanceId"])

    def replaced() -> bool:
        left = [instance["InstanceId"] for instance in scene.instances()]
        return scene.cluster.running() == SPOT_PODS and len(left) == 1 and left != [old["InstanceId"]]

    eventually(replaced, scene.summary, within=120)


def pods_get_nodes_of_node_templates(scene: Scene) -> None:
    scene.cluster.apply(*objects(scene.lab, "000-weight"))
    eventually(lambda: scene.cluster.running() == WEIGHT_PODS, scene.summary, within=150)


def a_protected_pod_is_deleted_when_the_time_of_its_node_is_up(scene: Scene) -> None:
    cluster = scene.cluster
    pool = changed(node_pool(), "spec.template.spec.terminationGracePeriod", "5s")
    protection = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}}
    cluster.apply(
        drain_manifests.node_class(scene.lab), pool, deployment("web", 1), budget | {"spec": protection}
    )
    eventually(lambda: cluster.running() == 1, scene.summary, within=120)
    before = uids(cluster)

    cluster.delete("karpenter.sh/v1", "NodeClaim", cluster.claims()[0]["metadata"]["name"])

    eventually(lambda: before.isdisjoint(uids(cluster)), scene.summary, within=90)


def uids(cluster: Cluster) -> set[str]:
    """Return the uids of pods and claims."""
    return {one["metadata"]["uid"] for one in (*cluster.pods(), *cluster.claims())}


def pods_are_bound_before_their_machine_joins(scene: Scene) -> None:
    scene.cluster.apply(inflate(scene))
    eventually(lambda: scene.cluster.bound() == INFLATE_PODS, scene.summary, within=120)


def nodes_that_kwok_plays_come_and_go(scene: Scene) -> None:
    scene.cluster.apply(KWOK_EXAMPLE)
    eventually(lambda: scene.cluster.running() == INFLATE_PODS, scene.summary, within=120)
    scene.cluster.scale("inflate", 0)
    eventually(lambda: gone(scene), scene.summary, within=180)


@pytest.fixture(scope="module")
def walked(ground: Ground) -> Ground:
    """The ground when all of this has worked, by the permissions of each installation."""
    with ground.running() as scene:
        with machines(scene, boot_seconds=0.5):
            for walk in (
                five_pods_get_a_spot_node_that_goes_when_they_do,
                a_spot_node_is_replaced_when_it_is_warned,
                pods_get_nodes_of_node_templates,
                a_protected_pod_is_deleted_when_the_time_of_its_node_is_up,
            ):
                walk(scene)
                scene.cluster.clear()
        ground.note()
    with ground.running(earlyBinding=True) as scene:
        pods_are_bound_before_their_machine_joins(scene)
        ground.note()
    with ground.running(cloud="kwok") as scene:
        nodes_that_kwok_plays_come_and_go(scene)
        ground.note()
    return ground


def test_the_walkthroughs_ask_for_nothing_that_the_charts_do_not_grant(walked: Ground) -> None:
    assert walked.audit.refused() == []
    assert walked.audit.used() <= walked.granted


def test_every_verb_that_the_charts_grant_is_used_or_it_is_said_why_not(walked: Ground) -> None:
    unused = {str(permission) for permission in walked.granted - walked.audit.used()}

    assert unused <= UNSEEN.keys()


def test_the_controller_of_the_charts_is_elected(walked: Ground) -> None:
    lease = walked.plane.request("GET", LEASE)[1]

    assert lease["spec"]["leaseTransitions"] >= 1
