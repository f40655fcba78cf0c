"""The disruption controller: writes into each PodDisruptionBudget how many evictions it allows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from treenail.adapters.fake.cluster.budgets import Budgets
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Address, Change
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod

_SECONDS: Final = 0.1


class BudgetController:
    """Writes the status of budgets a little after it, or a pod that one selects, has changed."""

    def __init__(self, plane: ControlPlane, budgets: Budgets) -> None:
        self._plane = plane
        self._budgets = budgets
        self._due: dict[Address, None] = {}
        plane.store.listen(self._changed, "PodDisruptionBudget", "Pod")

    def _changed(self, change: Change) -> None:
        if change.kind == "PodDisruptionBudget":
            self._look(change.address)
            return
        for pod in (change.before, change.after):
            if isinstance(pod, Pod):
                for address in self._budgets.selecting(pod):
                    self._look(address)

    def _look(self, address: Address) -> None:
        if address not in self._due:
            self._due[address] = None
            self._plane.later(_SECONDS, partial(self._write, address))

    def _write(self, address: Address) -> None:
        del self._due[address]
        budget = self._plane.store.find(address)
        if isinstance(budget, PodDisruptionBudget):
            allowed = self._budgets.allowed(address, budget)
            if budget.disruptions_allowed != allowed:
                self._plane.store.put(replace(budget, disruptions_allowed=allowed))
