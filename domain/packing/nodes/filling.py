"""Filling: fills many kinds of node at once from the same pods, so that they can be compared."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays.arrays import TINY, Bools, Floats, Indices, holds


def fill(room: Floats, requests: Floats, pods: Floats, start: Floats) -> Floats:
    """Fill B nodes of `room` (B, R), each for itself, and return how many pods of each class it holds (B, I).

    `pods` (B, I) is how many there are, `requests` (I, R) what each requests. Each node begins with
    `start` (B, I), which must fit, and then takes all it can of the class whose request points most
    nearly where its free room does, so that no resource runs out long before the others.
    """
    counts = start.copy()
    free = room - counts @ requests
    # Resources as shares of the node, so that none counts more for its unit.
    weight = 1.0 / np.maximum(room, 1.0) ** 2
    across = requests.T.copy()
    lengths = np.maximum(np.sqrt(weight @ (across**2)), TINY)
    asks = requests > 0
    nodes = np.arange(len(room))
    # A node that is full has no class it is able to take, and stays as it is.
    while True:
        able = holds(free[:, np.newaxis], requests) & (counts < pods)
        # The dot product of what is free and what is requested, divided by the length of the request: the
        # cosine, but for a factor that is the same for all classes of a node.
        likeness = np.where(able, (free * weight) @ across / lengths, -np.inf)
        best = likeness.argmax(axis=1)
        going = able[nodes, best]
        if not np.logical_or.reduce(going):
            return counts
        asked = requests[best]
        ratios = np.empty(free.shape)
        ratios.fill(np.inf)
        np.divide(free, asked, out=ratios, where=asks[best])
        taken = np.minimum(np.floor(np.minimum.reduce(ratios, axis=1)), (pods - counts)[nodes, best])
        # All it can of one class in one pass, not pod by pod: passes grow with classes, not with pods.
        taken *= going
        counts[nodes, best] += taken
        free -= taken[:, np.newaxis] * asked


def proportional(room: Floats, requests: Floats, pods: Floats, shares: Floats, order: Indices) -> Floats:
    """Return a start for `fill` (B, I): about the same share of each class's `pods` (B, I), as large as fits.

    `shares` (B) scales it down. Counts are whole without drifting: rounding is carried from class to
    class in `order`, along which classes should change little.
    """
    demand = pods @ requests
    largest = np.minimum.reduce(room / np.maximum(demand, TINY), axis=1)
    share = np.minimum(largest * shares, 1.0)[:, np.newaxis]
    up_to = np.floor(share * pods[:, order].cumsum(axis=1))
    counts = np.empty_like(pods)
    counts[:, order[0]] = up_to[:, 0]
    counts[:, order[1:]] = up_to[:, 1:] - up_to[:, :-1]
    np.minimum(counts, pods, out=counts)
    # Carried rounding may put in one pod too many: such nodes begin rounded down.
    too_much = np.logical_or.reduce(counts @ requests > room, axis=1).nonzero()[0]
    if len(too_much):
        counts[too_much] = np.floor(share[too_much] * pods[too_much])
    return counts


def asked_for(requests: Floats) -> Bools:
    """Return which resources any of `requests` (I, R) asks for (R), and the first in any case.

    Even for pods that ask for nothing there must be something to look at.
    """
    asked: Bools = np.maximum.reduce(requests) > 0
    asked[0] = True
    return asked


def by_proportions(requests: Floats) -> Indices:
    """Return an order of classes (I) in which neighbours of `requests` (I, R) ask in similar proportions."""
    scaled = requests / np.maximum(np.maximum.reduce(requests), TINY)
    amounts = np.add.reduce(scaled, axis=1)
    return np.lexsort((amounts, scaled[:, 0] / np.maximum(amounts, TINY)))
