"""The commands of docs/install.md, one after the other, on a cluster of their own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real.charts.rendering import ROOT
from tests.real.parts import binaries
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import Processes, Program
from tests.real.system.cluster import Cluster
from tests.real.system.controller import eventually

pytestmark = pytest.mark.xdist_group("installed by charts")
PAGE: Final = (ROOT / "docs" / "install.md").read_text()
# What cannot be run here, by how it begins, and why.
NOT_HERE: Final = {
    "aws ": "there is no AWS",
    "docker ": "there is no container engine; tests/test_image.py reads its file",
    "make wheel": "another target of the same file runs it",
    "helm repo add kwok": "KWOK runs already, as a process",
    "helm upgrade --install kwok ": "the same",
    "helm upgrade --install stage-fast ": "the same",
}
CONTROLLER: Final = "treenail controller "
TIMEOUT: Final = 180
ZONES: Final = ("zone-a", "zone-b")
PODS: Final = 5


def commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


class Reader:
    """Somebody who types the commands of the page, with programs of their own and a home."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.cluster = Cluster(plane)
        (home / ".kube").mkdir()
        (home / ".kube" / "config").write_text(plane.kubeconfig.read_text())
        programs = [
            Path(sys.executable).parent,
            *(binaries.place(part).parent for part in ("helm", "kubectl")),
        ]
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        self._env = {**os.environ, "HOME": str(home), "PATH": path}
        self._env.pop("KUBECONFIG", None)
        metrics, self._health, webhook = free_ports(3)
        self._ports = {"METRICS_PORT": metrics, "HEALTH_PROBE_PORT": self._health, "WEBHOOK_PORT": webhook}
        self._processes = Processes(home / "controller")

    def types(self, command: str) -> str:
        """Run a command to its end, or begin one that has none; return what it prints."""
        if command.startswith(CONTROLLER):
            self._begin(command)
            return ""
        done = subprocess.run(  # noqa: S603
            ["/bin/bash", "-euc", command],
            cwd=ROOT,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
        return done.stdout

    def leaves(self) -> None:
        self._processes.close()

    def _begin(self, command: str) -> None:
        own = {"STATE_DIRECTORY": str(self._processes.folder / "state")}
        program = Program(
            name="controller",
            command=shlex.split(command.replace("~", self._env["HOME"])),
            ready=lambda: answers(f"http://127.0.0.1:{self._health}/readyz"),
            env={**self._env, **{name: str(port) for name, port in self._ports.items()}, **own},
        )
        self._processes.start(program)
        self._processes.wait("controller")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    try:
        binaries.require(*PARTS, "helm", "kubectl")
    except binaries.NotBuiltError as error:
        pytest.skip(str(error))
    with ControlPlane() as plane:
        for zone in ZONES:
            plane.request("POST", "/api/v1/nodes", system_node(zone))
        reader = Reader(plane, tmp_path)
        yield reader
        reader.leaves()


def system_node(zone: str) -> dict[str, object]:
    """Return a node of the cluster itself, which KWOK plays."""
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": zone,
        "topology.kubernetes.io/zone": zone,
    }
    meta = {"name": f"system-{zone}", "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    room = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    return {"kind": "Node", "metadata": meta, "status": {"capacity": room, "allocatable": room}}


def test_every_command_of_the_page_works(reader: Reader) -> None:
    typed = [c for c in commands() if not c.startswith(tuple(NOT_HERE))]
    assert len(typed) > 10

    for command in typed:
        said = reader.types(command)

        if command.startswith("helm install treenail deploy/chart"):
            assert "See that it is ready" in said
        if command.startswith(CONTROLLER):
            eventually(lambda: reader.cluster.running() == PODS, reader.cluster.summary, within=TIMEOUT)
        if command.startswith("kubectl wait --for=delete"):
            assert reader.cluster.claims() == []
    assert reader.types("kubectl get crd -o name") == ""


def test_what_is_not_run_is_on_the_page() -> None:
    assert [start for start in NOT_HERE if not any(c.startswith(start) for c in commands())] == []
