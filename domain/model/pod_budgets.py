"""PodDisruptionBudgets: how many pods may be evicted, and which are held. Drains ask the API server alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.blockers import Block, Blocker
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
    """The number of selected pods that must stay, or may be gone, at a time: one of the two, or neither.

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
        """Return whether the budget selects a pod."""
        return (
            pod.namespace == self.namespace
            and self.selector is not None
            and self.selector.selects(pod.labels)
        )

    def holds(self, pod: Pod) -> bool:
        """Return whether a pod that it selects may not be evicted now: until its status is known, none."""
        if self.unread:
            return True
        return (self.disruptions_allowed or 0) <= 0 and self._guards(pod)

    def keeps(self, pod: Pod) -> bool:
        """Return whether a pod that it selects may never be evicted, however many there are."""
        none_gone = self.max_unavailable is not None and self.max_unavailable.number == 0
        all_stay = self.min_available == Portion(100, percent=True)
        return (none_gone or all_stay) and self._guards(pod)

    def _guards(self, pod: Pod) -> bool:
        return pod.ready or not self.always_allow_unhealthy


class PodBudgets:
    """All budgets there are, by namespace/name. Mutable. `selectors` counts how often a selector changed."""

    def __init__(self) -> None:
        self.selectors = 0
        self._all: dict[str, PodDisruptionBudget] = {}
        # Each under a label that all pods it selects have, or under none where there is no such label.
        self._by_label: dict[tuple[str, str, str], dict[str, PodDisruptionBudget]] = {}

    @property
    def all(self) -> Mapping[str, PodDisruptionBudget]:
        """The budgets by namespace/name."""
        return self._all

    def put(self, budget: PodDisruptionBudget) -> None:
        """Keep the present state of a budget."""
        before = self._all.get(budget.key)
        if before is None or before.selector != budget.selector:
            self.remove(budget.key)
            self.selectors += 1
        self._all[budget.key] = budget
        self._by_label.setdefault(_filed_under(budget), {})[budget.key] = budget

    def remove(self, key: str) -> None:
        """Forget a budget that is gone."""
        budget = self._all.pop(key, None)
        if budget is None:
            return
        self.selectors += 1
        under = _filed_under(budget)
        del self._by_label[under][key]
        if not self._by_label[under]:
            del self._by_label[under]

    def holding(self, pod: Pod) -> Blocker | None:
        """Return why the eviction API would not let a pod go now, None where it would."""
        return self.held_by(pod, self.selecting(pod))

    def held_by(self, pod: Pod, keys: Sequence[str]) -> Blocker | None:
        """Return why the eviction API would not let a pod go now that these budgets select."""
        if len(keys) > 1:
            return Block.POD_BUDGETS.by(" ".join(keys))
        if keys and (budget := self._all[keys[0]]).holds(pod):
            unread = f"{budget.unread}; " if budget.unread else ""
            return Block.POD_BUDGET.by(budget.key, unread)
        return None

    def keeps(self, pod: Pod) -> bool:
        """Return whether the eviction API will not let a pod go before its budgets are changed."""
        keys = self.selecting(pod)
        return len(keys) > 1 or any(self._all[key].keeps(pod) for key in keys)

    def selecting(self, pod: Pod) -> tuple[str, ...]:
        """Return the names of the budgets that select a pod, sorted; most budgets are not asked."""
        namespace, by_label = pod.namespace, self._by_label
        about: list[str] = []
        for label in (_NO_LABEL, *pod.labels.items()):
            found = by_label.get((namespace, *label))
            if found is not None:
                about += [key for key, one in found.items() if one.selects(pod)]
        return tuple(sorted(about))


_NO_LABEL: Final = ("", "")


def _filed_under(budget: PodDisruptionBudget) -> tuple[str, str, str]:
    wanted = budget.selector.match_labels if budget.selector is not None else ()
    return (budget.namespace, *(wanted[0] if wanted else _NO_LABEL))
