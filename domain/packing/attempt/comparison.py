"""Comparison of two attempts at a plan by the pods they place."""

from __future__ import annotations

from treenail.domain.packing.planned.outcome import Outcome


def places_others(after: Outcome, before: Outcome) -> bool:
    """Return whether `after` places some pods that `before` leaves, and is no step back for that.

    A step back leaves more pods, which ask for no less cpu in all. Placeholders are not counted.
    """
    less = {one.index: before.waiting(one.index) - after.waiting(one.index) for one in after.parsed.classes}
    if all(pods <= 0 for pods in less.values()):
        return False
    # Nobody is to lose a place to a placeholder.
    real = [one for one in after.parsed.classes if one.spec.priority >= 0]
    fewer = sum(less[one.index] for one in real)
    # A step back only if both counts say so: fewer pods, and no more cpu. A large pod may be worth several
    # tiny ones, and several pods may be worth a large one.
    return fewer >= 0 or sum(less[one.index] * float(one.requests[0]) for one in real) > 0


def places_the_same(after: Outcome, before: Outcome) -> bool:
    """Return whether as many pods of each class are placed, and no class gives up more preferences."""
    # Class by class: only then is a lower cost really for the same pods.
    return all(
        after.waiting(index) == before.waiting(index) and after.given_up[index] <= given_up
        for index, given_up in before.given_up.items()
    )
