"""What happens meanwhile: pods and workloads that go, nodes that change, time that passes."""

from __future__ import annotations

from dataclasses import replace

from tests.conformance.objects import key_of, taints
from tests.conformance.stage import Stage, Step
from tests.conformance.volumes import csi_node
from treenail.adapters.fake.ec2 import Shortfall
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint


def tainted(name: str, *texts: str) -> Step:
    """Put taints on the node of a pod, written as "key=value:NoSchedule"."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pod(name))
        stage.rehearsal.cluster.apply(replace(node, taints=(*node.taints, *_taints(*texts))))

    return do


def _taints(*texts: str) -> tuple[Taint, ...]:
    return tuple(Taint(one["key"], Effect(one["effect"]), one.get("value", "")) for one in taints(*texts))


def untainted(name: str, *, but: str = "") -> Step:
    """Take all taints off the node of a pod, and put one on."""

    def do(stage: Stage) -> None:
        left = _taints(*([but] if but else []))
        stage.rehearsal.cluster.apply(replace(stage.node_of(stage.pod(name)), taints=left))

    return do


def node_deleted(name: str) -> Step:
    """Delete the node of a pod, as a person would."""

    def do(stage: Stage) -> None:
        stage.rehearsal.delete("Node", stage.node_of(stage.pod(name)).name)

    return do


def short_of(resource: str) -> Step:
    """Let nodes come up with none of a resource, whatever their type has."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.set_shortfalls(Shortfall(at_most=Resources.parse({resource: 0})))

    return do


def limited_volumes(name: str, driver: str, count: int) -> Step:
    """Let the node of a pod take so many volumes of a driver."""

    def do(stage: Stage) -> None:
        stage.apply(csi_node(stage.node_of(stage.pod(name)).name, driver, count))
        stage.run(1)

    return do


def relabelled(name: str, **labels: str) -> Step:
    """Put labels on the node of a pod."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pod(name))
        more = {key_of(key): value for key, value in labels.items()}
        stage.rehearsal.cluster.apply(replace(node, labels={**node.labels, **more}))

    return do


def removed(*names: str, but_in: str = "") -> Step:
    """Delete the pods of these names, but those in a zone, and let them go."""

    def do(stage: Stage) -> None:
        for name in names:
            for pod in stage.pods(name):
                if not but_in or stage.node_of(pod).labels[key_of("zone")] != but_in:
                    stage.rehearsal.delete("Pod", pod.name)
        stage.run(2)

    return do


def passes(duration: float | str) -> Step:
    """Let time pass."""

    def do(stage: Stage) -> None:
        stage.run(duration)

    return do


def scaled(name: str, replicas: int, *others: str, kind: str = "Deployment") -> Step:
    """Scale workloads, and let their pods come or go."""

    def do(stage: Stage) -> None:
        for one in (name, *others):
            stage.rehearsal.scale(one, replicas, kind=kind)
        stage.run(2)

    return do


def deleted(kind: str, name: str = "") -> Step:
    """Delete an object, or else the only claim or node, or that of a pod."""

    def do(stage: Stage) -> None:
        stage.rehearsal.delete(kind, _named(stage, kind, name))

    return do


def _named(stage: Stage, kind: str, name: str) -> str:
    if kind == "Pod":
        return stage.pod(name).name
    if kind not in {"Node", "NodeClaim"}:
        return name
    if name:
        pod = stage.pods(name)[0]
        return stage.node_of(pod).name if kind == "Node" else stage.claim_of(pod).name
    (only,) = stage.rehearsal.nodes() if kind == "Node" else stage.rehearsal.claims()
    return only.name


def node_annotated(name: str, key: str, value: str) -> Step:
    """Put an annotation on the node of a pod."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pods(name)[0])
        stage.rehearsal.cluster.apply(replace(node, annotations={**node.annotations, key: value}))

    return do
