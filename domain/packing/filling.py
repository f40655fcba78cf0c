"""Fill many kinds of node at once from the same pods, so that they can be compared."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays import TINY, Bools, Floats, Indices


def fill(room: Floats, requests: Floats, pods: Floats, start: Floats) -> Floats:
    """Fill B nodes of `room` (B, R), each for itself, and return how many pods of each class it holds (B, I).

    `pods` (B, I) is how many there are, `requests` (I, R) what each requests. Each node begins with
    `start` (B, I), which must fit, and then takes all it can of the class whose request points most
    nearly where its free room does, so that no resource runs out long before the others.
    """
    counts = start.copy()
    free = room - counts @ requests
    asked = requests > 0
    scale = np.maximum(room, 1.0)
    lengths = np.sqrt((1.0 / scale**2) @ (requests**2).T)
    nodes = np.arange(len(room))
    while len(nodes):
        fits = np.minimum(_fitting(free[nodes], requests, asked), pods[nodes] - counts[nodes])
        likeness = (free[nodes] / scale[nodes] ** 2) @ requests.T / lengths[nodes]
        likeness[fits < 1] = -np.inf
        best = likeness.argmax(axis=1)
        taken = fits[np.arange(len(nodes)), best]
        going = taken >= 1
        nodes, best, taken = nodes[going], best[going], taken[going]
        counts[nodes, best] += taken
        free[nodes] -= taken[:, np.newaxis] * requests[best]
    return counts


def _fitting(free: Floats, requests: Floats, asked: Bools) -> Floats:
    fits: Floats = np.full((len(free), len(requests)), np.inf)
    for column in range(requests.shape[1]):
        of = asked[:, column]
        fits[:, of] = np.minimum(fits[:, of], free[:, column, np.newaxis] / requests[of, column])
    return np.floor(fits)


def proportional(room: Floats, requests: Floats, pods: Floats, shares: Floats, order: Indices) -> Floats:
    """Return a start for `fill` (B, I): about the same share of each class's `pods` (B, I), as large as fits.

    `shares` (B) scales it down. Counts are whole without drifting: rounding is carried from class to
    class in `order`, along which classes should change little.
    """
    demand = pods @ requests
    largest = (room / np.maximum(demand, TINY)).min(axis=1)
    share = np.minimum(largest * shares, 1.0)[:, np.newaxis]
    up_to = np.floor(share * np.cumsum(pods[:, order], axis=1))
    counts = np.zeros_like(pods)
    counts[:, order] = np.diff(up_to, axis=1, prepend=0.0)
    counts = np.minimum(counts, pods)
    too_much = (counts @ requests > room).any(axis=1)
    counts[too_much] = np.floor(share * pods)[too_much]
    return counts
