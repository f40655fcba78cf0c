"""CapacityBuffers and PodTemplates on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text


def buffer(version: str = "v1beta1", **spec: object) -> Manifest:
    return {
        "apiVersion": f"autoscaling.x-k8s.io/{version}",
        "kind": "CapacityBuffer",
        "metadata": {"name": "spare"},
        "spec": spec,
    }


def pod_template(cpu: str) -> Manifest:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "large"},
        "template": {"spec": {"containers": [container]}},
    }


def of(tmp_path: Path, *manifests: Manifest) -> str:
    file = tmp_path / "all.yaml"
    file.write_text(text(*manifests))
    return str(file)


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_simulate_plans_the_places_of_a_buffer_after_the_pods(tmp_path: Path, version: str) -> None:
    web = {"kind": "Deployment", "name": "web"}
    spare = buffer(version, scalableRef=web, percentage=500)
    pool = node_pool(limits={"cpu": "4"})

    ran = treenail("simulate", "-f", of(tmp_path, node_class(), pool, deployment(replicas=2), spare))

    planned, _, refused = ran.out.partition("unschedulable")
    assert "default/web-0, default/web-1, default/capacity-buffer-spare-1" in planned
    assert "capacity-buffer-spare" in refused
    assert "default/web" not in refused
    assert ran.out.splitlines()[-1].startswith("12 pods, 1 node to buy")


def test_places_are_like_the_pods_of_a_pod_template(tmp_path: Path) -> None:
    spare = buffer(podTemplateRef={"name": "large"}, limits={"cpu": "10"})

    ran = treenail("simulate", "-f", of(tmp_path, node_class(), node_pool(), pod_template("3"), spare))

    assert (ran.code, ran.out.splitlines()[-1].partition(",")[0]) == (0, "3 pods")


def test_rehearse_follows_buffers_where_the_gate_is_on(tmp_path: Path) -> None:
    spare = buffer(podTemplateRef={"name": "large"}, replicas=2)
    file = of(tmp_path, node_class(), node_pool(), pod_template("3"), spare)

    off = treenail("rehearse", "-f", file, "-q", "--for", "5m")
    on = treenail(
        "rehearse", "-f", file, "-q", "--for", "5m", "--setting", "FEATURE_GATES=CapacityBuffer=true"
    )

    assert "0 pods, 0 running; 0 nodes" in off.out
    assert "0 pods, 0 running; 1 node" in on.out
