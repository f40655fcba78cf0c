"""Disruption budgets: how many of the pods they select may be evicted now."""

from __future__ import annotations

from treenail.adapters.api.workloads import ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster.objects import Address, Change
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.errors import TooManyRequestsError
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Phase, Pod


class Budgets:
    """All budgets there are, each with the pods it selects."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._budgets: dict[str, dict[Address, PodDisruptionBudget]] = {}
        self._selected: dict[Address, dict[str, None]] = {}
        store.listen(self._budget_changed, "PodDisruptionBudget")
        store.listen(self._pod_changed, "Pod")

    def check(self, pod: Pod) -> None:
        """Make sure that a pod may be evicted now.

        Raises:
            TooManyRequestsError: its budget is used up, or it has more than one.
        """
        if pod.terminal or pod.phase is Phase.PENDING or pod.deleting_since is not None:
            return
        about = [
            (address, budget)
            for address, budget in self._budgets.get(pod.namespace, {}).items()
            if pod.uid in self._selected[address]
        ]
        if len(about) > 1:
            raise TooManyRequestsError(f"Pod {pod.key} has more than one disruption budget")
        for address, budget in about:
            self._spend(pod, address, budget)

    def selecting(self, pod: Pod) -> tuple[Address, ...]:
        """Return where the budgets are that select a pod."""
        return tuple(a for a, b in self._budgets.get(pod.namespace, {}).items() if b.selects(pod))

    def allowed(self, address: Address, budget: PodDisruptionBudget) -> int:
        """Return how many healthy pods may be evicted one after the other now."""
        return max(self._healthy(address) - self._desired(address, budget), 0)

    def _spend(self, pod: Pod, address: Address, budget: PodDisruptionBudget) -> None:
        healthy, desired = self._healthy(address), self._desired(address, budget)
        if not pod.ready and (budget.always_allow_unhealthy or healthy >= desired > 0):
            return
        if healthy - 1 < desired:
            raise TooManyRequestsError(
                f"Pod {pod.key}: the disruption budget {budget.name} needs {desired} healthy pods"
                f" and has {healthy} currently"
            )

    def _pods(self, address: Address) -> list[Pod]:
        found = (self._store.by_uid(uid) for uid in self._selected[address])
        return [pod for pod in found if isinstance(pod, Pod)]

    def _healthy(self, address: Address) -> int:
        return sum(pod.ready and pod.active for pod in self._pods(address))

    def _desired(self, address: Address, budget: PodDisruptionBudget) -> int:
        """Return how many of the pods must stay healthy."""
        if budget.max_unavailable is not None:
            expected = self._expected(address)
            return max(expected - budget.max_unavailable.of(expected), 0)
        if budget.min_available is not None and not budget.min_available.percent:
            return budget.min_available.number
        expected = self._expected(address)
        # A budget that says nothing allows nothing.
        return expected if budget.min_available is None else budget.min_available.of(expected)

    def _expected(self, address: Address) -> int:
        """Return how many pods there should be: what their owners ask for, and one for each without."""
        owners: dict[str, int] = {}
        for pod in self._pods(address):
            owner = self._store.by_uid(pod.owner.uid) if pod.owner else None
            if isinstance(owner, ReplicaSet | StatefulSet):
                owners[owner.uid] = owner.replicas
            else:
                owners[pod.uid] = 1
        return sum(owners.values())

    # --- which pods a budget selects

    def _budget_changed(self, change: Change) -> None:
        namespace = change.address[1].partition("/")[0]
        there = self._budgets.setdefault(namespace, {})
        there.pop(change.address, None)
        self._selected.pop(change.address, None)
        if isinstance(change.after, PodDisruptionBudget):
            budget = there[change.address] = change.after
            chosen = (p for p in self._store.all(Pod) if budget.selects(p))
            self._selected[change.address] = {pod.uid: None for pod in chosen}

    def _pod_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        pod = after or before
        if not isinstance(pod, Pod) or not self._budgets.get(pod.namespace):
            return
        if isinstance(before, Pod) and isinstance(after, Pod) and before.labels == after.labels:
            return
        for address, budget in self._budgets[pod.namespace].items():
            if isinstance(after, Pod) and budget.selects(after):
                self._selected[address][pod.uid] = None
            else:
                self._selected[address].pop(pod.uid, None)
