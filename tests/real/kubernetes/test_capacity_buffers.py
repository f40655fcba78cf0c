"""Capacity buffers of a real API server: what is read of them and of what they refer to, and their status."""

from __future__ import annotations

from typing import Any, Final

from tests.real.kubernetes.definitions import ok
from tests.real.kubernetes.test_reader import Rig
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.resources import watched
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.status.buffer_status import BufferStatus

BUFFERS: Final = "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers"
TEMPLATES: Final = "/api/v1/namespaces/default/podtemplates"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
GATES: Final = {"CapacityBuffer": True}


def template(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}


def deployment(replicas: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template("2"), "replicas": replicas}
    return {"metadata": {"name": "web"}, "spec": spec}


def buffer(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_buffers_and_what_they_refer_to_are_known_where_the_gate_is_on(server: ControlPlane) -> None:
    rig = Rig(server, watched=watched(gates=GATES))

    def known(kind: type) -> list[Any]:
        return [thing for thing in rig.mirror.holds.values() if isinstance(thing, kind)]

    ok(server.request("POST", TEMPLATES, {"metadata": {"name": "large"}, "template": template("1")}))
    ok(server.request("POST", DEPLOYMENTS, deployment(0)))
    ok(server.request("POST", BUFFERS, buffer("of-large", podTemplateRef={"name": "large"}, replicas=2)))
    mirror = rig.start()
    [found] = known(CapacityBuffer)
    assert (found.template, found.replicas, found.generation) == ("large", 2, 1)
    assert found.strategy == "buffer.x-k8s.io/active-capacity"
    [large] = known(StoredPodTemplate)
    assert (large.generation, large.template.spec.requests["cpu"]) == (1, 1000)

    ok(server.request("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 7}}, MERGE))
    mirror.until(lambda: [one.wanted for one in known(Workload) if one.kind == "Deployment"] == [7])
    [web] = [one for one in known(Workload) if one.kind == "Deployment"]
    assert web.template is not None
    assert web.template.spec.requests["cpu"] == 2000

    for path in (f"{TEMPLATES}/large", f"{DEPLOYMENTS}/web", f"{BUFFERS}/of-large"):
        ok(server.request("DELETE", path))
    mirror.until(lambda: not known(CapacityBuffer) and not known(StoredPodTemplate))
    rig.close()


def test_the_status_of_a_buffer_is_written_beside_the_conditions_of_others(server: ControlPlane) -> None:
    rig = Rig(server, watched=watched(gates=GATES))
    writer = KubernetesWriter(rig.connection, clock=SystemClock(), dice=SystemDice())
    made = ok(server.request("POST", BUFFERS, buffer("spare", podTemplateRef={"name": "large"}, replicas=2)))
    theirs = {
        "type": "Theirs",
        "status": "True",
        "reason": "Other",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    ok(server.request("PATCH", f"{BUFFERS}/spare/status", {"status": {"conditions": [theirs]}}, MERGE))
    about = CapacityBuffer(name="spare", uid=made["metadata"]["uid"]).ref
    status = BufferStatus(
        about=about,
        generation=1,
        conditions=(Condition("Provisioning", Status.TRUE, "FitsExistingCapacity", "All 2"),),
        strategy="buffer.x-k8s.io/active-capacity",
        template_name="large",
        template_generation=4,
        replicas=2,
    )

    writer.set_buffer_status(status)
    first = ok(server.request("GET", f"{BUFFERS}/spare"))
    writer.set_buffer_status(status)
    second = ok(server.request("GET", f"{BUFFERS}/spare"))

    assert {c["type"]: (c["status"], c["reason"]) for c in first["status"]["conditions"]} == {
        "Theirs": ("True", "Other"),
        "Provisioning": ("True", "FitsExistingCapacity"),
    }
    assert first["status"]["podTemplateRef"] == {"name": "large"}
    assert (first["status"]["podTemplateGeneration"], first["status"]["replicas"]) == (4, 2)
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    ok(server.request("DELETE", f"{BUFFERS}/spare"))
    rig.close()
