"""Pods that scheduling cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from treenail.domain.packing.arrays import Axis, Floats
from treenail.domain.packing.compatibility.ladder import Ladder
from treenail.domain.packing.problem import PackingOrder
from treenail.domain.pods import Pod, PodSpec
from treenail.domain.resources import CPU, MEMORY

_age = attrgetter("created_at", "uid")


@dataclass(frozen=True, slots=True, eq=False)
class PodClass:
    """Pods of equal spec, the oldest first, each asking for `requests` (R).

    `index` numbers the classes by their oldest pod. Classes of one `ladder` differ in nothing but requests.
    """

    index: int
    spec: PodSpec
    pods: tuple[Pod, ...]
    requests: Floats
    ladder: Ladder


def alike(pods: Iterable[Pod]) -> list[tuple[PodSpec, tuple[Pod, ...]]]:
    """Part `pods` by equal specs: by age within a part, and the parts by their oldest pod."""
    by_object: dict[int, list[Pod]] = {}
    by_spec: dict[PodSpec, list[Pod]] = {}
    for pod in sorted(pods, key=_age):
        # Pods of one template share one spec: to compare objects first saves hashing them.
        members = by_object.get(id(pod.spec))
        if members is None:
            members = by_object[id(pod.spec)] = by_spec.setdefault(pod.spec, [])
        members.append(pod)
    return [(spec, tuple(members)) for spec, members in by_spec.items()]


def largest_first(
    classes: Iterable[PodClass], order: PackingOrder, axis: Axis, largest: Floats
) -> list[PodClass]:
    """Sort classes by what `order` calls large, ties by the age of their oldest pod.

    `largest` (R) is the most room of any type, against which `euclidean` measures.
    """
    cpu, memory = axis.names.index(CPU), axis.names.index(MEMORY)

    def size(one: PodClass) -> tuple[float, float]:
        match order:
            case PackingOrder.CPU:
                return (-one.requests[cpu], -one.requests[memory])
            case PackingOrder.MEMORY:
                return (-one.requests[memory], -one.requests[cpu])
            case PackingOrder.EUCLIDEAN:
                share = [one.requests[i] / max(largest[i], 1.0) for i in (cpu, memory)]
                return (-(share[0] ** 2 + share[1] ** 2), 0.0)

    return sorted(classes, key=lambda one: (*size(one), one.index))
