"""Residents: pods that have their place, as other pods see them. Alike ones are one object."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, TypeAlias

from treenail.domain.model.pods import HostPort, Pod, PodAffinityTerm, PodSpec
from treenail.domain.packing.identity import IdentityMap, grouping
from treenail.domain.packing.problem import ExistingNode, Resident

Labels: TypeAlias = tuple[tuple[str, str], ...]
_Marks: TypeAlias = tuple[tuple[PodAffinityTerm, ...], tuple[HostPort, ...]]

_FEWEST_SWEPT: Final = 10_000


class Residents:
    """Interned residents: one object for all that are alike. Now and then, those that are nowhere go."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Labels, int, bool], Resident] = {}
        # What of a spec matters to others, numbered by value. It is found by the spec object that pods share,
        # so that a whole spec is hashed once, not for each pod of the cluster.
        self._numbers: dict[_Marks, int] = {}
        self._of_spec = IdentityMap(partial(_numbered, self._numbers))
        self._sweep_at = _FEWEST_SWEPT

    def count(self, pods: Iterable[Pod]) -> tuple[tuple[Resident, int], ...]:
        """Return what `pods` are as residents, and how many of each, in the order of the first of each."""
        # By identity: `of` gives alike pods one object, and labels of thousands of pods are not hashed again.
        alike: IdentityMap[Resident, list[Pod]] = grouping()
        for pod in pods:
            alike[self.of(pod)].append(pod)
        return tuple((resident, len(some)) for resident, some in alike.items())

    def of(self, pod: Pod) -> Resident:
        """Return what a pod is as a resident."""
        number, marks = self._of_spec[pod.spec]
        # Sorted, for two pods may have equal labels in different order.
        labels = tuple(sorted(pod.labels.items()))
        key = (pod.namespace, labels, number, pod.deleting_since is not None)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Resident(
                namespace=pod.namespace,
                labels=labels,
                anti_affinity=marks[0],
                host_ports=marks[1],
                leaving=pod.deleting_since is not None,
            )
        return known

    def sweep(self, existing_nodes: Iterable[ExistingNode | None]) -> None:
        """Forget those that are in none of `existing_nodes`, once enough of them have gathered."""
        if len(self._known) + len(self._of_spec) < self._sweep_at:
            return
        # Rebuilt from who is still there: nobody tells this object when the last pod of a kind has gone.
        self._known, self._numbers = {}, {}
        self._of_spec = IdentityMap(partial(_numbered, self._numbers))
        for existing_node in existing_nodes:
            for resident, _ in existing_node.residents if existing_node is not None else ():
                marks = (resident.anti_affinity, resident.host_ports)
                number = self._numbers.setdefault(marks, len(self._numbers))
                self._known[resident.namespace, resident.labels, number, resident.leaving] = resident
        # Twice what is left: sweeping costs O(1) a pod on average, however large the cluster.
        self._sweep_at = max(_FEWEST_SWEPT, 2 * len(self._known))


def _numbered(numbers: dict[_Marks, int], spec: PodSpec) -> tuple[int, _Marks]:
    """Return what of a spec matters to other pods, and the number of that."""
    marks = tuple(t for t in spec.pod_affinity if t.anti and t.weight is None), spec.host_ports
    return numbers.setdefault(marks, len(numbers)), marks
