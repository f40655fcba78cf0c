"""Fill many kinds of node at once from the same pods, so that they can be compared."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays import TINY, Floats, Indices, holds


def fill(room: Floats, requests: Floats, pods: Floats, start: Floats) -> Floats:
    """Fill B nodes of `room` (B, R), each for itself, and return how many pods of each class it holds (B, I).

    `pods` (B, I) is how many there are, `requests` (I, R) what each requests. Each node begins with
    `start` (B, I), which must fit, and then takes all it can of the class whose request points most
    nearly where its free room does, so that no resource runs out long before the others.
    """
    counts = start.copy()
    free = room - counts @ requests
    weight = 1.0 / np.maximum(room, 1.0) ** 2
    lengths = np.maximum(np.sqrt(weight @ (requests**2).T), TINY)
    nodes = np.arange(len(room))
    while len(nodes):
        likeness = (free[nodes] * weight[nodes]) @ requests.T / lengths[nodes]
        able = holds(free[nodes, np.newaxis], requests) & (counts[nodes] < pods[nodes])
        likeness[~able] = -np.inf
        best = likeness.argmax(axis=1)
        going = able[np.arange(len(nodes)), best]
        nodes, best = nodes[going], best[going]
        taken = np.minimum(_fitting(free[nodes], requests[best]), pods[nodes, best] - counts[nodes, best])
        counts[nodes, best] += taken
        free[nodes] -= taken[:, np.newaxis] * requests[best]
    return counts


def _fitting(free: Floats, requests: Floats) -> Floats:
    """Return how many pods of each request (B, R) fit into the free room beside it (B, R)."""
    ratios = np.empty(free.shape)
    ratios.fill(np.inf)
    np.divide(free, requests, out=ratios, where=requests > 0)
    fits: Floats = np.floor(ratios.min(axis=1))
    return fits


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
