"""PodDisruptionBudgets: how many pods may be evicted, and which are held. Drains ask the API server alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treenail.domain.model.pods import LabelSelector, Pod


@dataclass(frozen=True, slots=True)
class Portion:
    """A number of pods: an absolute one, or a percentage of all."""

    number: int
    percent: bool = False

    def of(self, pods: int) -> int:
        """Return how many of `pods` this is; a percentage is rounded up."""
        return -(-pods * self.number // 100) if self.percent else self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.percent else str(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisruptionBudget:
    """How many of the selected pods must stay, or may be gone, at a time: one of the two, or neither.

    A `selector` of None selects nothing. `always_allow_unhealthy` lets pods go that are not ready.
    `disruptions_allowed` is what the API server last said, None where it has not yet. `unread` says what of
    it could not be read, "" where all could: it may hold whom it selects.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    selector: LabelSelector | None = None
    min_available: Portion | None = None
    max_unavailable: Portion | None = None
    always_allow_unhealthy: bool = False
    disruptions_allowed: int | None = None
    unread: str = ""

    @property
    def key(self) -> str:
        """The budget's name as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"

    def selects(self, pod: Pod) -> bool:
        """Return whether a pod is one of those it is about."""
        return (
            pod.namespace == self.namespace
            and self.selector is not None
            and self.selector.selects(pod.labels)
        )

    def holds(self, pod: Pod) -> bool:
        """Return whether a pod that it selects may not be evicted now: until its status is known, none."""
        if self.unread:
            return True
        return (self.disruptions_allowed or 0) <= 0 and (pod.ready or not self.always_allow_unhealthy)


class PodBudgets:
    """All budgets there are, by namespace/name. Mutable."""

    def __init__(self) -> None:
        self._all: dict[str, PodDisruptionBudget] = {}
        self._by_namespace: dict[str, dict[str, PodDisruptionBudget]] = {}

    @property
    def all(self) -> Mapping[str, PodDisruptionBudget]:
        return self._all

    def put(self, budget: PodDisruptionBudget) -> None:
        """Keep the present state of a budget."""
        self._all[budget.key] = budget
        self._by_namespace.setdefault(budget.namespace, {})[budget.key] = budget

    def remove(self, key: str) -> None:
        """Forget a budget that is gone."""
        budget = self._all.pop(key, None)
        if budget is not None:
            del self._by_namespace[budget.namespace][key]

    def holding(self, pod: Pod) -> str | None:
        """Return why the eviction API would not let a pod go now, None where it would."""
        about = [one for one in self._by_namespace.get(pod.namespace, {}).values() if one.selects(pod)]
        if len(about) > 1:
            keys = ", ".join(sorted(one.key for one in about))
            return f"pod has more than one PDB (Pod={pod.key}, PDB=[{keys}])"
        if about and about[0].holds(pod):
            unread = f"{about[0].unread}; " if about[0].unread else ""
            return f"{unread}pdb prevents pod evictions (PDB={about[0].key})"
        return None
