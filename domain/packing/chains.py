"""Where the pods of a class may get a new node, in the order to be tried."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.packing.arrays import holds
from treenail.domain.packing.classes import PodClass
from treenail.domain.packing.compatibility.families import Families, Family


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A family of nodes a class may open, and the number of the rung that leads there."""

    rung: int
    family: Family


def chain_of(one: PodClass, families: Families) -> tuple[Link, ...]:
    """Return the families in which a node can hold a pod of the class, rung by rung, pools in their order.

    The first whose limits cannot be reached is the last: it takes all pods that come to it.
    """
    links = []
    for number, rung in enumerate(one.ladder.rungs):
        for template in range(len(families.templates)):
            family = families.of(template, rung)
            if family is None or not holds(family.largest, one.requests).any():
                continue
            links.append(Link(number, family))
            if not family.template.limited:
                return tuple(links)
    return tuple(links)
