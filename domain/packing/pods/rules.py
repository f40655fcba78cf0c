"""Rules of a pod group: the terms per node that its pods have, and those that count them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """The terms per node, by number of their groups, that the pods of a unit have, and that count them.

    `counted` says how many of the pods each counts; there are only those that pods to be placed have. The
    `firm` ones of those they have bind also who comes after them.
    """

    owned: tuple[int, ...] = ()
    counted: tuple[tuple[int, int], ...] = ()
    firm: tuple[int, ...] = ()


FREE = Rules()
