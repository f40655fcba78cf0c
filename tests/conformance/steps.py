"""Steps of cases: what is done to the cluster, and what is expected of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.conformance.objects import key_of
from tests.conformance.stage import Stage, Step
from treenail.domain.model.pods import Phase


def on(name: str, /, more: Mapping[str, str | None] | None = None, **labels: str | None) -> Step:
    """Expect that the pods of a name are on nodes with these labels; None is a label they lack."""
    wanted = {key_of(key): value for key, value in {**(more or {}), **labels}.items()}

    def check(stage: Stage) -> None:
        pods = stage.pods(name)
        assert pods, f"there is no pod {name}"
        for pod in pods:
            node = stage.node_of(pod)
            assert {key: node.labels.get(key) for key in wanted} == wanted
            assert pod.phase is Phase.RUNNING, f"{pod.name} is {pod.phase} on {node.name}"

    return check


def refused(*names: str) -> Step:
    """Expect that the pods of these names wait, and that an event says why."""

    def check(stage: Stage) -> None:
        for name in names:
            pods = stage.pods(name)
            assert pods, f"there is no pod {name}"
            for pod in pods:
                assert not pod.node_name, f"{pod.name} is on {pod.node_name}"
                assert "FailedScheduling" in stage.why(pod)

    return check


def together(*names: str) -> Step:
    """Expect that all pods of these names are on one node."""

    def check(stage: Stage) -> None:
        nodes = {stage.node_of(pod).name for name in names for pod in stage.pods(name)}
        assert len(nodes) == 1, f"they are on {sorted(nodes)}"

    return check


def apart(*names: str, by: str = "host") -> Step:
    """Expect that no two pods of these names are on one node, or in one domain of a label."""

    def check(stage: Stage) -> None:
        pods = [pod for name in names for pod in stage.pods(name)]
        domains = [stage.node_of(pod).labels[key_of(by)] for pod in pods]
        assert len(set(domains)) == len(pods) > 1, f"they are in {domains}"

    return check


def split(name: str, by: str, *counts: int) -> Step:
    """Expect that the pods of a name that run are split so over the domains of a label, fewest first."""

    def check(stage: Stage) -> None:
        placed = [pod for pod in stage.pods(name) if pod.node_name]
        domains = Counter(stage.node_of(pod).labels[key_of(by)] for pod in placed)
        assert tuple(sorted(domains.values())) == counts, f"they are split {dict(domains)}"

    return check


def nodes(count: int) -> Step:
    """Expect that there are so many nodes, and as many claims."""

    def check(stage: Stage) -> None:
        rehearsal = stage.rehearsal
        there = [f"{n.name} {n.labels.get(key_of('type'))}" for n in rehearsal.nodes()]
        assert (len(there), len(rehearsal.claims())) == (count, count), f"there are {there}"

    return check


def asked_for(*types: str) -> Step:
    """Expect that EC2 could choose from just these instance types, when the last node was bought."""

    def check(stage: Stage) -> None:
        chosen = {override.instance_type for override in stage.requests[-1].overrides}
        assert chosen == set(types)

    return check


def removed(*names: str) -> Step:
    """Delete the pods of these names, and let them go."""

    def do(stage: Stage) -> None:
        for name in names:
            for pod in stage.pods(name):
                stage.rehearsal.delete("Pod", pod.name)
        stage.rehearsal.run(2)

    return do


def passes(duration: float | str) -> Step:
    """Let time pass."""

    def do(stage: Stage) -> None:
        stage.rehearsal.run(duration)

    return do
