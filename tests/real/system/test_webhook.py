"""The controller's own webhook, and the controller without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import free_ports
from tests.real.system.cluster import Cluster
from tests.real.system.controller import Controller, eventually

OLD_POOL: Final = "/apis/karpenter.sh/v1beta1/nodepools/default"
MANIFESTS: Final = """
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
  template:
    spec:
      requirements: []
      terminationGracePeriod: 1h
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: inflate}
spec:
  replicas: 1
  selector: {matchLabels: {app: inflate}}
  template:
    metadata: {labels: {app: inflate}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: pause, resources: {requests: {cpu: 1}}}]
"""


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    cluster = Cluster(control_plane)
    cluster.install()
    yield cluster
    cluster.clear()
    control_plane.request("DELETE", "/api/v1/namespaces/kube-system/secrets/treenail-webhook")


def test_without_its_webhook_the_controller_goes_on_and_v1beta1_comes_back_with_it(cluster: Cluster) -> None:
    [port] = free_ports(1)
    env = {
        "KUBECONFIG": str(cluster.plane.kubeconfig),
        "CLUSTER_NAME": "demo",
        "CLOUD": "kwok",
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": str(port),
        "WEBHOOK_URL": f"https://127.0.0.1:{port}",
    }

    def read() -> tuple[int, Any]:
        return cluster.plane.request("GET", OLD_POOL)

    with Controller(env):
        cluster.apply(MANIFESTS)
        eventually(lambda: cluster.running() == 1, cluster.summary)
        eventually(lambda: read()[0] == 200, lambda: str(read()))
        before = read()[1]["spec"]

    with Controller({**env, "DISABLE_WEBHOOK": "true"}) as controller:
        status, answer = read()
        assert status == 500
        assert "conversion webhook for karpenter.sh/v1, Kind=NodePool failed" in answer["message"]
        cluster.scale("inflate", 40)
        eventually(lambda: cluster.running() == 40, cluster.summary)
        assert controller.said("conversions are not served")

    with Controller(env):
        eventually(lambda: read()[0] == 200, lambda: str(read()))
        assert read()[1]["spec"] == before
        status, claims = cluster.plane.request("GET", "/apis/karpenter.sh/v1beta1/nodeclaims")
        assert status == 200, claims
        assert len(claims["items"]) == len(cluster.claims()) > 1
