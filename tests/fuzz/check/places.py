"""Whether pods may be where they are, each by itself: taints, labels, room, offerings and prices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from tests.fuzz.check.amounts import Amounts, add, short_of
from tests.fuzz.check.decision import Claim, Decision
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.homes import Home, Node
from tests.fuzz.check.pods import Pod, Shape
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.check.taints import first_refused

_CENT_FRACTION: Final = 1e-6


def check_places(decision: Decision) -> Iterator[Fault]:
    for home in decision.homes():
        pods = decision.newcomers(home)
        yield from _check_pods(home, pods)
        if isinstance(home, Node) and pods:
            yield from _check_node(home, pods)
    for claim in decision.claims:
        yield from _check_claim(claim, decision)


def _check_pods(home: Home, pods: Sequence[Pod]) -> Iterator[Fault]:
    for shape in dict.fromkeys(pod.shape for pod in pods):
        name = next(pod.name for pod in pods if pod.shape is shape)
        taint = first_refused(shape.tolerations, home.taints)
        if taint is not None:
            yield Fault(Kind.TAINT, name, f"does not tolerate {taint} of {home.name}")
        if not home.meets(shape.terms):
            yield Fault(Kind.REQUIREMENT, name, f"{home.name} need not meet its selector and affinity")


def _check_node(node: Node, pods: Sequence[Pod]) -> Iterator[Fault]:
    short = short_of(requests_of(pods), node.free)
    if short:
        yield Fault(Kind.CAPACITY, node.name, f"is short of {', '.join(short)}")


def requests_of(pods: Sequence[Pod]) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        add(total, pod.shape.requests)
    return total


def _check_claim(claim: Claim, decision: Decision) -> Iterator[Fault]:
    if not claim.types:
        yield Fault(Kind.OFFERING, claim.name, "has no instance type")
    usable = {way.type.name for way in claim.home.ways}
    for name in claim.types:
        if name not in usable:
            yield Fault(Kind.OFFERING, claim.name, f"{name} has no offering that the claim may use")
    needed = requests_of(decision.newcomers(claim.home))
    yield from _check_room(claim, needed, decision.scenario)
    price = min((way.price for way in claim.home.ways), default=math.inf)
    if usable and abs(price - claim.price) > _CENT_FRACTION:
        yield Fault(Kind.PRICE, claim.name, f"says {claim.price}, its cheapest offering costs {price}")


def _check_room(claim: Claim, needed: Amounts, scenario: Scenario) -> Iterator[Fault]:
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for way in claim.home.ways:
        daemons = scenario.daemons_on(claim.home, way)
        key = (way.type.name, tuple(id(daemon) for daemon in daemons))
        if key in seen:
            continue
        seen.add(key)
        short = short_with(needed, daemons, way.type.allocatable)
        if short:
            yield Fault(Kind.CAPACITY, claim.name, f"{way.type.name} is short of {', '.join(short)}")


def short_with(needed: Amounts, daemons: Sequence[Shape], allocatable: Amounts) -> list[str]:
    """Return the resources that pods and daemons together are short of."""
    total = dict(needed)
    for daemon in daemons:
        add(total, daemon.requests)
    return short_of(total, allocatable)
