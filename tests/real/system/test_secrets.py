from __future__ import annotations

import json
from typing import Any

import urllib3
import yaml

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.controller import eventually
from tests.real.system.scene import SERVICE, Scene, machines
from tests.real.system.walkthrough import inflate

# Each is where a user has a secret: the credentials of three services, and what pods and user data may hold.
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "seeded-aws-key-b41c",
    "AWS_SESSION_TOKEN": "seeded-aws-token-7e02",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer seeded-otlp-token-93fa",
}
IN_POD, IN_ARGUMENT, IN_USER_DATA = "seeded-pod-value-1d55", "seeded-argument-c0de", "seeded-user-data-5a5a"
SEEDED = "seeded-"


def with_secrets(manifests: str) -> list[dict[str, Any]]:
    """Return the walkthrough with secrets in its pods and in the user data of its nodes."""
    objects: list[dict[str, Any]] = [one for one in yaml.safe_load_all(manifests) if one]
    for one in objects:
        if one["kind"] == "AWSNodeTemplate":
            one["spec"]["userData"] = f"#!/bin/bash\nexport TOKEN={IN_USER_DATA}\n"
        if one["kind"] == "Deployment":
            (container,) = one["spec"]["template"]["spec"]["containers"]
            container["env"] = [{"name": "PASSWORD", "value": IN_POD}]
            container["args"] = [f"--token={IN_ARGUMENT}"]
    return objects


def leaks(text: str) -> set[str]:
    """Return the lines in which a secret stands."""
    return {line[:300] for line in text.splitlines() if SEEDED in line}


def test_no_secret_gets_into_logs_traces_events_metrics_or_objects(
    control_plane: ControlPlane, lab: Lab, jaeger: Jaeger
) -> None:
    # A dry run would find what is refused here, and nothing be launched for five minutes.
    scene = Scene(control_plane, lab, jaeger, LOG_LEVEL="debug", DISABLE_DRY_RUN="true", **SECRETS)
    scene.cluster.install()
    lab.fault("ec2", "CreateFleet", status=403, code="UnauthorizedOperation", times=2)
    with scene.controller, machines(scene):
        scene.cluster.apply(*with_secrets(inflate(scene)))
        eventually(lambda: scene.cluster.running() == 5, scene.summary, within=120)
        with lab.outage(service="ec2"):
            scene.cluster.scale("inflate", 9)
            eventually(
                lambda: bool(scene.controller.said("ServiceUnavailable")),
                scene.controller.last_lines,
                within=60,
            )
        eventually(lambda: scene.cluster.running() == 9, scene.summary, within=120)
        scene.cluster.scale("inflate", 0)
        eventually(lambda: not scene.instances(), scene.summary, within=120)

        metrics = urllib3.request("GET", f"http://127.0.0.1:{scene.controller.metrics_port}/metrics").data
        log = scene.controller.log_text()
        found = {
            "log": leaks(log),
            "metrics": leaks(metrics.decode()),
            "events": leaks(json.dumps(control_plane.request("GET", "/api/v1/events")[1], indent=1)),
            "nodes": leaks(json.dumps(scene.cluster.nodes(), indent=1)),
            "machines": leaks(json.dumps(scene.cluster.claims(), indent=1)),
        }
    traces = jaeger.find(service=SERVICE)
    found["traces"] = leaks(json.dumps(traces, indent=1))
    scene.cluster.clear()

    assert traces
    assert "UnauthorizedOperation" in log
    assert found == {where: set() for where in found}
