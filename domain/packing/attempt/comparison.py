"""Comparison of two attempts at a plan by the pods they place."""

from __future__ import annotations

from treenail.domain.packing.planned.outcome import Outcome


def places_others(after: Outcome, before: Outcome) -> bool:
    """Return whether some pods are placed that `before` leaves, without leaving more for it.

    More are left where there are more of them that also ask for as much cpu. Placeholders are not counted.
    """
    less = {one.index: before.waiting(one.index) - after.waiting(one.index) for one in after.parsed.classes}
    if all(pods <= 0 for pods in less.values()):
        return False
    real = [one for one in after.parsed.classes if one.spec.priority >= 0]
    fewer = sum(less[one.index] for one in real)
    return fewer >= 0 or sum(less[one.index] * float(one.requests[0]) for one in real) > 0


def places_the_same(after: Outcome, before: Outcome) -> bool:
    """Return whether as many pods of each class are placed, none of which is to give up a wish for that."""
    return all(
        after.waiting(index) == before.waiting(index) and after.given_up[index] <= given_up
        for index, given_up in before.given_up.items()
    )
