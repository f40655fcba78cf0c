"""Pod specs as admission completes them: priority of the PriorityClass, and one pod of room."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.adapters.api.priorities import priority_of
from treenail.adapters.api.workloads import PriorityClass
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import PODS, Resources

_MOST_REMEMBERED: Final = 10_000


class Priorities:
    """Priority classes made into priorities. Pods that shared a spec before share one after."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._completed: dict[int, tuple[PodSpec, PodSpec]] = {}
        store.listen(self._forget, "PriorityClass")

    def completed(self, pod: Pod) -> PodSpec:
        """Return a pod's spec with the priority of its class, and room for the one pod it is.

        Raises:
            InvalidError: there is no such class, or the pod claims another priority than that of its class.
        """
        known = self._completed.get(id(pod.spec))
        if known is None:
            if len(self._completed) >= _MOST_REMEMBERED:
                self._completed.clear()
            known = self._completed[id(pod.spec)] = (pod.spec, self._complete(pod))
        return known[1]

    def _complete(self, pod: Pod) -> PodSpec:
        spec = self.with_room(pod.spec)
        name, priority = self._class_of(pod)
        if (name, priority) == (spec.priority_class, spec.priority):
            return spec
        return replace(spec, priority_class=name, priority=priority)

    @staticmethod
    def with_room(spec: PodSpec) -> PodSpec:
        """Return a spec that asks for the room of one pod, beside what else it asks for."""
        if PODS in spec.requests:
            return spec
        return replace(spec, requests=Resources({**spec.requests, PODS: 1}))

    def _class_of(self, pod: Pod) -> tuple[str, int]:
        classes = {c.name: c for c in self._store.all(PriorityClass)}
        try:
            return priority_of(pod.spec, classes)
        except (LookupError, ValueError) as error:
            raise InvalidError(f"Pod {pod.key}: {error}") from None

    def _forget(self, change: Change) -> None:
        del change
        self._completed.clear()
