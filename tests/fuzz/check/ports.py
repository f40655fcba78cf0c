"""Host ports: no two pods of a node may want the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.homes import NewNode
from tests.fuzz.check.pods import Pod, Shape


def check_ports(decision: Decision) -> Iterator[Fault]:
    for home in decision.homes():
        new = decision.newcomers(home)
        there = decision.bound(home)
        for n, pod in enumerate(new):
            for other in [*there, *new[:n]]:
                if clash(pod.shape, [other.shape]):
                    yield Fault(Kind.PORT, pod.name, f"wants a port on {home.name} that {other.name} has")
        if isinstance(home, NewNode):
            yield from _check_daemons(decision, home, new)


def _check_daemons(decision: Decision, home: NewNode, new: Sequence[Pod]) -> Iterator[Fault]:
    if not any(daemon.ports for daemon in decision.scenario.daemons):
        return
    daemons = dict.fromkeys(d for way in home.ways for d in decision.scenario.daemons_on(home, way))
    for pod in new:
        if clash(pod.shape, list(daemons)):
            yield Fault(Kind.PORT, pod.name, f"wants a port on {home.name} that a daemon has")


def clash(shape: Shape, others: Sequence[Shape]) -> bool:
    return any(port.conflicts(taken) for port in shape.ports for other in others for taken in other.ports)
