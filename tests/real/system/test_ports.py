"""The controller's ports under clients that mean no good, while the API server and the kubelet ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final, Self

import pytest
import urllib3

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import free_ports
from tests.real.system.cluster import Cluster
from tests.real.system.controller import Controller, eventually
from tests.real.system.rogues import Rogues

OLD_POOL: Final = "/apis/karpenter.sh/v1beta1/nodepools/default"
# What a kubelet waits for a probe where the pod does not say.
PROBE_SECONDS: Final = 1.0
PODS: Final = 40
READERS: Final = 6
# A start of a node here takes a second or two; a third client that is served first would take longer.
SLACK_SECONDS: Final = 5.0
POOL: Final = """
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
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
"""
DEPLOYMENT: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{{name: c, image: pause, resources: {{requests: {{cpu: 1}}}}}}]
"""


class Asker:
    """One that asks again and again, on a thread of its own. `refused` is what it got for an answer."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.refused: list[str] = []
        self.answered = 0
        self.longest = 0.0
        self._ask = ask
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._end.wait(0.1):
            begun = time.monotonic()
            try:
                said = self._ask()
            except urllib3.exceptions.HTTPError as error:
                said = repr(error)
            self.longest = max(self.longest, time.monotonic() - begun)
            if said is None:
                self.answered += 1
            else:
                self.refused.append(str(said))


def getting(url: str) -> Callable[[], object]:
    """Ask as a kubelet does: over a connection of its own, once."""

    def ask() -> object:
        with urllib3.PoolManager() as client:
            answer = client.request("GET", url, timeout=PROBE_SECONDS, retries=False)
            return None if answer.status == 200 else answer.status

    return ask


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    cluster = Cluster(control_plane)
    cluster.install()
    yield cluster
    cluster.clear()
    control_plane.request("DELETE", "/api/v1/namespaces/kube-system/secrets/treenail-webhook")


def scaled(cluster: Cluster, name: str, *, to: int) -> float:
    """Start pods of a Deployment; return in how many seconds all ran."""
    cluster.apply(DEPLOYMENT.format(name=name, replicas=PODS))
    return eventually(lambda: cluster.running() == to, cluster.summary)


def test_200_rogues_at_each_port_refuse_no_call_and_delay_no_pod(
    cluster: Cluster, note: Callable[[str, str], None]
) -> None:
    [port] = free_ports(1)
    env = {
        "KUBECONFIG": str(cluster.plane.kubeconfig),
        "CLUSTER_NAME": "demo",
        "CLOUD": "kwok",
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": str(port),
        "WEBHOOK_URL": f"https://127.0.0.1:{port}",
    }

    def read_old() -> object:
        status, answer = cluster.plane.request("GET", OLD_POOL)
        return None if status == 200 else answer

    with Controller(env) as controller:
        cluster.apply(POOL)
        eventually(lambda: read_old() is None, lambda: str(read_old()))
        probes, pages = controller.health_port, controller.metrics_port
        calm = scaled(cluster, "calm", to=PODS)
        rogues = Rogues({"webhook": f"{port}+tls", "probes": str(probes), "metrics": str(pages)}, seconds=120)
        # The API server has one connection by now, and needs more for readers that ask at once.
        askers = {f"API server {number}": Asker(read_old) for number in range(READERS)}
        askers["kubelet"] = Asker(getting(f"http://127.0.0.1:{probes}/healthz"))
        askers["Prometheus"] = Asker(getting(f"http://127.0.0.1:{pages}/metrics"))
        with rogues, ExitStack() as asking:
            for asker in askers.values():
                asking.enter_context(asker)
            attacked = scaled(cluster, "attacked", to=2 * PODS)
            eventually(lambda: all(asker.answered >= 40 for asker in askers.values()), "no answers")
        longest = {name: f"{asker.longest:.2f} s" for name, asker in askers.items()}
        answered = {name: asker.answered for name, asker in askers.items()}
        said = (
            f"{calm:.1f} s, attacked {attacked:.1f} s; {rogues.opened} opened; {answered}, longest {longest}"
        )
        note("ports", said)
        print(said)  # noqa: T201 (with -s)

        assert {name: asker.refused for name, asker in askers.items()} == {name: [] for name in askers}
        assert attacked < calm + SLACK_SECONDS, said
        assert not [line for line in controller.said("connections closed") if line.get("level") == "error"]
