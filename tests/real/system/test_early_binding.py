from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines
from tests.real.system.walkthrough import expect_whole, inflate, stored

BOOT_SECONDS = 6.0


@pytest.fixture
def parts(control_plane: ControlPlane, lab: Lab, jaeger: Jaeger) -> tuple[ControlPlane, Lab, Jaeger]:
    return control_plane, lab, jaeger


@contextmanager
def scene(parts: tuple[ControlPlane, Lab, Jaeger], **env: str) -> Iterator[Scene]:
    plane, lab, jaeger = parts
    there = Scene(plane, lab, jaeger, **env)
    there.cluster.install()
    with there.controller:
        yield there
    there.cluster.clear()


def decided(scene: Scene) -> bool:
    return bool(scene.controller.said("decided on pods"))


def seconds_to_bound(scene: Scene) -> float:
    """Apply the walkthrough; return how long its pods are not bound after they were decided on."""
    scene.cluster.apply(inflate(scene))
    eventually(lambda: decided(scene), scene.summary, within=120)
    return eventually(lambda: scene.cluster.bound() == 5, scene.summary, within=60)


def test_pods_are_bound_before_their_machine_joins_and_run_when_it_has(
    parts: tuple[ControlPlane, Lab, Jaeger],
) -> None:
    with scene(parts, EARLY_BINDING="true") as early:
        with_it = seconds_to_bound(early)
        assert early.cluster.running() == 0
        [node] = early.cluster.nodes()
        taints = {(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]}
        assert taints == {("node.kubernetes.io/not-ready", "NoSchedule")}

        with machines(early):
            eventually(lambda: early.cluster.running() == 5, early.summary, within=60)

            assert [n["metadata"]["uid"] for n in early.cluster.nodes()] == [node["metadata"]["uid"]]
            assert early.controller.metric("treenail_pods_bound_early_total") == 5
            [decision] = [line["trace_id"] for line in early.controller.said("decided on pods")]
            spans = stored(early, decision, "decide", "make-node", "bind", "register", "initialize")
            expect_whole(early, spans)
            ends = {span.name: span.end for span in spans}
            assert ends["bind"] < ends["register"]
    with scene(parts) as late, machines(late, boot_seconds=BOOT_SECONDS):
        without = seconds_to_bound(late)
    told = f"{with_it:.2f} s with early binding, {without:.2f} s without"
    assert with_it + BOOT_SECONDS / 2 < without, told
    print(told)  # noqa: T201


def test_a_machine_that_never_joins_takes_its_early_node_along_when_its_claim_goes(
    parts: tuple[ControlPlane, Lab, Jaeger],
) -> None:
    with scene(parts, EARLY_BINDING="true") as early:
        seconds_to_bound(early)
        [claim] = early.cluster.claims()
        [node] = early.cluster.nodes()
        # As in EC2, an address is not free before its machine has shut down.
        early.lab.set_pace(shutdown=30)
        with machines(early, broken=early.bought()):
            # What the registration deadline does after a quarter of an hour.
            early.cluster.delete(claim["apiVersion"], claim["kind"], claim["metadata"]["name"])

            eventually(lambda: early.cluster.running() == 5, early.summary, within=90)
            used = {pod["spec"]["nodeName"] for pod in early.cluster.pods()}
            assert node["metadata"]["name"] not in used
            assert len(early.instances()) == 1
            [old] = [n for n in early.cluster.nodes() if n["metadata"]["uid"] == node["metadata"]["uid"]]
            assert "deletionTimestamp" in old["metadata"]
