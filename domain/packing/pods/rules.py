"""Rules of a pod group: the terms per node that its pods have, and those that count them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """The terms per node of a unit of pods, by the numbers of their groups.

    `owned` are those that its pods have. `counted` are those that count its pods, each with how many, if some
    pod to be placed has them. `firm` are the required ones among `owned`: they bind pods that join later.
    """

    owned: tuple[int, ...] = ()
    counted: tuple[tuple[int, int], ...] = ()
    firm: tuple[int, ...] = ()


FREE = Rules()
