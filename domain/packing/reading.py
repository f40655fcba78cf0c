"""Read a problem: its pods as classes, and those set aside that cannot be packed for what they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from treenail.domain.packing.arrays import Axis
from treenail.domain.packing.classes import PodClass, alike
from treenail.domain.packing.compatibility.ladder import Ladder, ladder_of
from treenail.domain.packing.constraints import not_supported
from treenail.domain.packing.problem import Problem
from treenail.domain.pods import NodeAffinity, Pod, PodSpec
from treenail.domain.reasons import Reason, Refusal
from treenail.domain.taints import Effect, Toleration


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The pods of a problem: `parts` are all of them by equal spec, numbered.

    Of those, `classes` can be packed; `refused` says, by number, why the others cannot.
    """

    axis: Axis
    parts: tuple[tuple[PodSpec, tuple[Pod, ...]], ...]
    classes: list[PodClass] = field(default_factory=list)
    refused: dict[int, Refusal] = field(default_factory=dict)

    def set_aside(self, index: int, error: Exception) -> None:
        """Leave the part `index` out, for packing it failed; the rest goes on without it."""
        self.classes[:] = [one for one in self.classes if one.index != index]
        detail = f"it was set aside, for packing it failed: {type(error).__name__}: {error}"
        self.refused[index] = Refusal("", Reason.SET_ASIDE, detail)


def read(problem: Problem) -> Reading:
    """Part the pods of `problem` into classes."""
    parts = tuple(alike(problem.pods))
    axis = Axis([spec.requests for spec, _ in parts] + [daemon.requests for daemon in problem.daemons])
    reading = Reading(axis=axis, parts=parts)
    soft = _soft_taints(problem)
    ladders: dict[tuple[tuple[tuple[str, str], ...], NodeAffinity, tuple[Toleration, ...]], Ladder] = {}
    for index, (spec, pods) in enumerate(parts):
        constraint = not_supported(spec)
        if constraint is not None:
            detail = f"{constraint} is not supported yet"
            reading.refused[index] = Refusal("", Reason.CONSTRAINT_NOT_SUPPORTED, detail)
            continue
        try:
            key = (spec.node_selector, spec.node_affinity, spec.tolerations)
            if key not in ladders:
                ladders[key] = ladder_of(spec, soft_taints=soft)
            reading.classes.append(PodClass(index, spec, pods, axis.requests(spec.requests), ladders[key]))
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
            reading.set_aside(index, error)
    return reading


def _soft_taints(problem: Problem) -> bool:
    taints = [t for room in problem.rooms for t in room.taints]
    taints += [t for offer in problem.offers for t in offer.pool.taints]
    return any(t.effect is Effect.PREFER_NO_SCHEDULE for t in taints)
