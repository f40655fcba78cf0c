"""Where pods are expected to be, and on which nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.conformance.objects import key_of
from tests.conformance.stage import Stage, Step
from treenail.domain.model.labels import CAPACITY_TYPE, ZONE


def on(name: str, /, more: Mapping[str, str | None] | None = None, **labels: str | None) -> Step:
    """Expect that the pods of a name are on nodes with these labels; None is a label they lack."""
    wanted = {key_of(key): value for key, value in {**(more or {}), **labels}.items()}

    def check(stage: Stage) -> None:
        pods = stage.pods(name)
        assert pods, f"there is no pod {name}"
        for pod in pods:
            node = stage.node_of(pod)
            assert {key: node.labels.get(key) for key in wanted} == wanted

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


def waiting(name: str, count: int) -> Step:
    """Expect that so many of the pods of a name have no node."""

    def check(stage: Stage) -> None:
        assert sum(not pod.node_name for pod in stage.pods(name)) == count

    return check


def most(name: str, by: str, count: int) -> Step:
    """Expect that no domain of a label has more than so many pods of a name."""

    def check(stage: Stage) -> None:
        placed = [pod for pod in stage.pods(name) if pod.node_name]
        domains = Counter(stage.node_of(pod).labels[key_of(by)] for pod in placed)
        assert max(domains.values()) <= count, f"they are split {dict(domains)}"

    return check


def level(name: str, by: str, skew: int, *, domains: int = 1) -> Step:
    """Expect that the domains of a label differ by no more than `skew` pods of a name; all have a node."""

    def check(stage: Stage) -> None:
        counts = Counter(stage.node_of(pod).labels[key_of(by)] for pod in stage.pods(name))
        least = min(counts.values()) if len(counts) >= domains else 0
        assert max(counts.values()) - least <= skew, f"they are split {dict(counts)}"

    return check


def alike(by: str, *names: str) -> Step:
    """Expect that all pods of these names are on nodes with one value of a label."""

    def check(stage: Stage) -> None:
        values = {stage.node_of(pod).labels[key_of(by)] for name in names for pod in stage.pods(name)}
        assert len(values) == 1, f"they are in {sorted(values)}"

    return check


def nodes(count: int) -> Step:
    """Expect that there are so many nodes, and as many claims."""

    def check(stage: Stage) -> None:
        rehearsal = stage.rehearsal
        there = [f"{n.name} {n.labels.get(key_of('type'))}" for n in rehearsal.nodes()]
        assert (len(there), len(rehearsal.claims())) == (count, count), f"there are {there}"

    return check


def one_of(name: str, key: str, *values: str) -> Step:
    """Expect that the pods of a name are on nodes with one of these values of a label."""

    def check(stage: Stage) -> None:
        for pod in stage.pods(name):
            assert stage.node_of(pod).labels[key_of(key)] in values

    return check


def noted(name: str, by: str = "host") -> Step:
    """Remember the node of a pod, by its host name or another label, for `same` and `other`."""

    def do(stage: Stage) -> None:
        stage.noted[name, by] = stage.node_of(stage.pod(name)).labels[key_of(by)]

    return do


def same(name: str, as_: str, by: str = "host") -> Step:
    """Expect that a pod is on the node that was noted of another one."""

    def check(stage: Stage) -> None:
        assert stage.node_of(stage.pod(name)).labels[key_of(by)] == stage.noted[as_, by]

    return check


def other(name: str, than: str, by: str = "host") -> Step:
    """Expect that a pod is on another node than was noted."""

    def check(stage: Stage) -> None:
        assert stage.node_of(stage.pod(name)).labels[key_of(by)] != stage.noted[than, by]

    return check


def claims(count: int) -> Step:
    """Expect that there are so many claims, whether they have nodes yet or not."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.claims()) == count

    return check


def cheapest(**offered: str) -> Step:
    """Expect that the one node costs the least there is, and what EC2 could choose from was as `offered`."""

    def check(stage: Stage) -> None:
        (instance,) = (record.instance for record in stage.rehearsal.ec2.live())
        types = stage.types()
        assert instance.price == min(o.price for one in types.values() for o in one.offerings)
        keys = {key_of(key): value for key, value in offered.items()}
        request = stage.requests[-1]
        for override in request.overrides:
            known = {
                **types[override.instance_type].requirements.labels(),
                ZONE: override.zone,
                CAPACITY_TYPE: request.capacity_type,
            }
            assert {key: known[key] for key in keys} == keys

    return check


def asked_for(*types: str) -> Step:
    """Expect that EC2 could choose from just these instance types, when the last node was bought."""

    def check(stage: Stage) -> None:
        chosen = {override.instance_type for override in stage.requests[-1].overrides}
        assert chosen == set(types)

    return check


def running(count: int) -> Step:
    """Expect that so many pods run."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.running() == count, stage.rehearsal.summary()

    return check


def gone(name: str) -> Step:
    """Expect that the node is gone that was noted of a pod."""

    def check(stage: Stage) -> None:
        hosts = [node.labels[key_of("host")] for node in stage.rehearsal.nodes()]
        assert stage.noted[name, "host"] not in hosts, stage.rehearsal.summary()

    return check


def ending(name: str, count: int) -> Step:
    """Expect that so many pods of a name are being deleted."""

    def check(stage: Stage) -> None:
        assert sum(pod.deleting_since is not None for pod in stage.pods(name)) == count

    return check
