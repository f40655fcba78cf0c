"""The controller's process with nodes that KWOK plays, on a real control plane."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.kubernetes.subject import remove_crds
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
TREENAIL = Path(sys.executable).parent / "treenail"
# The example, but for its patience with empty nodes.
PLAYED = (
    (ROOT / "examples" / "005-kwok.yaml")
    .read_text(encoding="utf-8")
    .replace("consolidateAfter: 30s", "consolidateAfter: 1s")
)


def until(true: Callable[[], bool], *, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.1)


class ControllerProcess:
    """`treenail controller --cloud kwok`, whose log is `log`."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._log = folder / "log"
        self._began = time.monotonic()
        with self._log.open("w") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [TREENAIL, "controller", "--cloud=kwok", f"--kubeconfig={kubeconfig}"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(folder),
                    "CLUSTER_NAME": "demo",
                    "METRICS_PORT": "0",
                    "HEALTH_PROBE_PORT": "0",
                    "WEBHOOK_PORT": "0",
                    "STATE_DIRECTORY": str(folder),
                },
            )

    def lines(self, message: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["message"] == message]

    def get(self, path: str, *, port: str = "health_probe_port") -> tuple[int, str]:
        (serving,) = self.lines("serving")
        connection = http.client.HTTPConnection("127.0.0.1", serving[port], timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait_until_ready(self) -> float:
        """Return how many seconds it took from the start, as far as can be seen."""
        until(lambda: bool(self.lines("serving")))
        until(lambda: self.get("/readyz") == (200, "ok\n"))
        return time.monotonic() - self._began

    def resident(self) -> int:
        """Return the MiB that the process and its child use together."""
        pid = self.process.pid
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
        return sum(map(_resident, (pid, *children)))

    def __str__(self) -> str:
        return self._log.read_text()

    def modules(self) -> str:
        return Path(f"/proc/{self.process.pid}/maps").read_text()


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


@pytest.fixture
def kubectl(control_plane: ControlPlane) -> Iterator[Kubectl]:
    # Definitions that other tests made differ in who owns what.
    remove_crds(control_plane)
    kubectl = Kubectl(control_plane.kubeconfig)
    kubectl("apply", "--server-side", "-f", ROOT / "deploy" / "crds")
    kubectl("wait", "--for=condition=Established", "--all", "crd", "--timeout=30s")
    yield kubectl
    kubectl("delete", "deployment,nodepool,kwoknodeclass", "--all", "--wait=false")


@pytest.fixture
def controller(control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path) -> Iterator[ControllerProcess]:
    del kubectl
    started = ControllerProcess(control_plane.kubeconfig, tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        started.process.kill()
    started.process.wait(30)
    print(started)  # noqa: T201 (seen where the test fails)


def test_pods_get_nodes_and_give_them_back_and_the_process_ends_when_it_is_told(
    controller: ControllerProcess, kubectl: Kubectl
) -> None:
    def running() -> int:
        pods = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
        return sum(p["status"].get("phase") == "Running" for p in pods)

    def left(kind: str) -> int:
        return len(json.loads(kubectl("get", kind, "-o", "json"))["items"])

    print(f"ready after {controller.wait_until_ready():.1f} s, {controller.resident()} MiB")  # noqa: T201
    began = time.monotonic()
    kubectl("apply", "-f", "-", stdin=PLAYED)
    until(lambda: running() == 5)
    print(f"running after {time.monotonic() - began:.1f} s, {controller.resident()} MiB")  # noqa: T201
    assert controller.resident() < 300
    assert "numpy" not in controller.modules()
    assert "karpenter_nodeclaims_created_total{" in controller.get("/metrics", port="metrics_port")[1]

    kubectl("scale", "deployment", "inflate", "--replicas=0")
    until(lambda: left("nodes") == left("nodeclaims") == 0)

    assert controller.get("/healthz") == (200, "ok\n")
    controller.process.send_signal(signal.SIGTERM)
    assert controller.process.wait(15) == 0
    assert controller.lines("stopping")


def test_a_restored_copy_of_a_claim_keeps_the_machine_when_the_original_is_deleted(
    controller: ControllerProcess, kubectl: Kubectl
) -> None:
    def items(kind: str) -> list[dict[str, Any]]:
        return list(json.loads(kubectl("get", kind, "-o", "json"))["items"])

    def pods() -> dict[str, str]:
        """Return the nodes of the pods that run, by uid."""
        running = (p for p in items("pods") if p["status"].get("phase") == "Running")
        return {p["metadata"]["uid"]: p["spec"]["nodeName"] for p in running}

    def owners(node: str) -> set[str]:
        (there,) = [one for one in items("nodes") if one["metadata"]["name"] == node]
        return {owner["name"] for owner in there["metadata"]["ownerReferences"]}

    def initialized(claim: dict[str, Any]) -> bool:
        conditions = claim.get("status", {}).get("conditions", ())
        return any(one["type"] == "Initialized" and one["status"] == "True" for one in conditions)

    controller.wait_until_ready()
    kubectl("apply", "-f", "-", stdin=PLAYED)
    until(lambda: len(pods()) == 5 and all(map(initialized, items("nodeclaims"))))
    before, original = pods(), items("nodeclaims")[0]
    name, node = original["metadata"]["name"], original["status"]["nodeName"]
    keys = ("annotations", "finalizers", "labels")
    meta = {"name": "copy", **{key: original["metadata"][key] for key in keys}}
    kubectl("create", "-f", "-", stdin=json.dumps({**original, "metadata": meta}))
    status = json.dumps({"status": original["status"]})
    kubectl("patch", "nodeclaim", "copy", "--subresource=status", "--type=merge", "-p", status)
    until(lambda: bool(controller.lines("several claims name one machine")))

    kubectl("delete", "nodeclaim", name)

    assert owners(node) >= {"copy"}
    time.sleep(10)  # the collector of garbage would have taken the node by now
    assert pods() == before
    (there,) = [one for one in items("nodes") if one["metadata"]["name"] == node]
    assert "deletionTimestamp" not in there["metadata"]
    assert not there["spec"].get("unschedulable")

    kubectl("scale", "deployment", "inflate", "--replicas=0")
    until(lambda: not items("nodes") and not items("nodeclaims"))
