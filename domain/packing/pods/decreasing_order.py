"""Decreasing order: pod classes by the size of what a pod requests, as first-fit-decreasing takes them."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.resources import CPU, MEMORY
from treenail.domain.packing.arrays.arrays import Axis, Floats
from treenail.domain.packing.identity import IdentityMap
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.problem import PackingOrder


def largest_first(
    classes: Sequence[PodClass], order: PackingOrder, axis: Axis, largest: Floats
) -> list[PodClass]:
    """Sort classes by what `order` calls large, the largest first; of equal ones the one numbered first.

    `largest` (R) is the most room of any type. `euclidean` measures requests as shares of it.
    """
    cpu, memory = axis.names.index(CPU), axis.names.index(MEMORY)

    def size(requests: Floats) -> tuple[float, float]:
        match order:
            case PackingOrder.CPU:
                return (-float(requests[cpu]), -float(requests[memory]))
            case PackingOrder.MEMORY:
                return (-float(requests[memory]), -float(requests[cpu]))
            case PackingOrder.EUCLIDEAN:
                # As a share of the largest type, for cpu and memory have different units. A sum of squares
                # ranks as its root does.
                share = [float(requests[i] / max(largest[i], 1.0)) for i in (cpu, memory)]
                return (-(share[0] ** 2 + share[1] ** 2), 0.0)

    # Many classes share one array of requests: each is measured once.
    sizes = IdentityMap(size)
    return sorted(classes, key=lambda one: (*sizes[one.requests], one.index))
