"""ResourceQuotas of namespaces: how many pods like one they let workloads still make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import Resources

# What pods charge that were taken before in one decision, by the key of the quota.
Drawn: TypeAlias = dict[str, dict[str, int]]
_NOTHING_DRAWN: Final[Mapping[str, Mapping[str, int]]] = {}
_NONE: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class QuotaRoom:
    """The `number` of further pods that the tightest quota of a namespace lets be made.

    `quota` is its namespace/name.
    """

    number: int
    quota: str


@dataclass(slots=True)
class _Account:
    """A quota with its charges: by pods that are `there` and stay, and by promises to pods `to_come`."""

    quota: ResourceQuota
    there: dict[str, int] = field(default_factory=dict)
    to_come: dict[str, int] = field(default_factory=dict)
    _last: tuple[PodSpec, Resources] | None = None

    def charge(self, pod: Pod) -> Resources:
        """Return what a pod of this namespace charges. Pods of one template share their spec."""
        if pod.terminal:
            return self.quota.charge(pod)
        if self._last is None or self._last[0] is not pod.spec:
            self._last = pod.spec, self.quota.charge(pod)
        return self._last[1]

    def count(self, pod: Pod, times: int) -> None:
        _add(self.there, self.charge(pod), times)

    def expect(self, pod: Pod, times: int) -> None:
        _add(self.to_come, self.charge(pod), times)

    def room(self, like: Pod, drawn: Mapping[str, int]) -> int | None:
        """Return how many more pods may be made, None where these are not limited."""
        hard, used = self.quota.hard, self.quota.used
        left = (
            (
                hard[name]
                - max(used.get(name, 0), self.there.get(name, 0))
                - self.to_come.get(name, 0)
                - drawn.get(name, 0)
            )
            // amount
            for name, amount in self.charge(like).items()
            if amount
        )
        least = min(left, default=None)
        return None if least is None else max(0, least)

    def beyond(self, like: Pod) -> int:
        """Return how many pods like one must not come so that what is charged stays within the quota."""
        over = (
            -((self.quota.hard[name] - self.there.get(name, 0) - self.to_come.get(name, 0)) // amount)
            for name, amount in self.charge(like).items()
            if amount
        )
        return max(0, max(over, default=0))

    @property
    def overdrawn(self) -> bool:
        """True if the pods that are there and those to come are more than it allows together."""
        hard, there = self.quota.hard, self.there
        return any(
            there.get(name, 0) + amount > hard[name] for name, amount in self.to_come.items() if amount
        )


class NamespaceQuotas:
    """The quotas of each namespace, and what is charged to them. Mutable.

    The API server admits pods by `status.used`, which also has pods that are not known here yet, and for a
    moment those that are gone. What is known here has pods that the status lacks: a new quota has none. For
    what `room` there is the larger one counts. Places are given back where they are `beyond` a quota by the
    pods that are known alone, less those that are being deleted: their successors are counted already.
    Namespaces without quotas cost nothing, others are counted once and by each change from then on.
    """

    def __init__(self, objects: Inventory, promises: PromiseBook) -> None:
        self._objects = objects
        self._promises = promises
        self._keys: dict[str, dict[str, None]] = {}
        # The accounts by namespace, by the names of the quotas, from when they were first needed.
        self._accounts: dict[str, tuple[_Account, ...]] = {}
        promises.listen(self._promised)

    # --- facts

    def put(self, quota: ResourceQuota) -> None:
        """Keep the present state of a quota."""
        before = self._objects.quotas.get(quota.key)
        self._objects.quotas[quota.key] = quota
        self._keys.setdefault(quota.namespace, {})[quota.key] = None
        if before is None or (before.hard, before.scopes) != (quota.hard, quota.scopes):
            self._accounts.pop(quota.namespace, None)
        for account in self._accounts.get(quota.namespace, ()):
            if account.quota.key == quota.key:
                account.quota = quota

    def remove(self, key: str) -> None:
        """Forget a quota that is gone."""
        quota = self._objects.quotas.pop(key, None)
        if quota is not None:
            self._accounts.pop(quota.namespace, None)
            del self._keys[quota.namespace][key]
            if not self._keys[quota.namespace]:
                del self._keys[quota.namespace]

    def pod(self, before: Pod | None, after: Pod | None) -> None:
        """Take in a pod as it was and as it is, None where it is not there."""
        pod = after or before
        accounts = self._accounts.get(pod.namespace) if pod is not None else None
        if not accounts:
            return
        was, now = (one if one is not None and _stays(one) else None for one in (before, after))
        if was is not None and now is not None and was.spec is now.spec and was.terminal == now.terminal:
            return
        for account in accounts:
            if was is not None:
                account.count(was, -1)
            if now is not None:
                account.count(now, 1)

    def _promised(self, promise: Promise, times: int) -> None:
        for account in self._accounts.get(promise.like.namespace, ()):
            account.expect(promise.like, times)

    # --- questions

    def __bool__(self) -> bool:
        return bool(self._keys or self._objects.aside)

    def limit(self, namespace: str) -> bool:
        """Return whether a namespace has quotas, or one that is not understood."""
        return namespace in self._keys or bool(self._unread(namespace))

    def room(self, like: Pod, drawn: Mapping[str, Mapping[str, int]] = _NOTHING_DRAWN) -> QuotaRoom | None:
        """Return for how many more pods there is room beside those with promises; None for any number.

        Where a quota is not understood there is none. What was `drawn` in a decision is taken.
        """
        unread = self._unread(like.namespace)
        if unread:
            return QuotaRoom(0, unread)
        rooms = (
            QuotaRoom(number, account.quota.key)
            for account in self._of(like.namespace)
            if (number := account.room(like, drawn.get(account.quota.key, _NONE))) is not None
        )
        return min(rooms, key=lambda one: one.number, default=None)

    def draw(self, like: Pod, number: int, drawn: Drawn) -> None:
        """Note in `drawn` that so many pods like one are taken."""
        for account in self._of(like.namespace):
            _add(drawn.setdefault(account.quota.key, {}), account.charge(like), number)

    def take(self, like: Pod, drawn: Drawn) -> bool:
        """Return whether there is room for one more pod, and note in `drawn` that it is taken."""
        room = self.room(like, drawn) if self.limit(like.namespace) else None
        if room is not None:
            self.draw(like, min(1, room.number), drawn)
        return room is None or room.number > 0

    def overdrawn(self, namespace: str) -> bool:
        """Return whether more pods of a namespace have promised places than quotas let be made.

        False where a quota is not understood: what was last understood of it may be wrong.
        """
        if namespace not in self._keys:
            return False
        if namespace not in self._accounts and not self._promises.owners_to_come(namespace):
            return False
        return any(account.overdrawn for account in self._of(namespace)) and not self._unread(namespace)

    def beyond(self, like: Pod) -> int:
        """Return how many promised places of pods like one are beyond what quotas let be made."""
        return max((account.beyond(like) for account in self._of(like.namespace)), default=0)

    def _unread(self, namespace: str) -> str:
        """Return the key of a quota that is not understood, "" where all are."""
        if not self._objects.aside:
            return ""
        found = (key for kind, key in self._objects.aside if kind is Kind.RESOURCE_QUOTA)
        return min((key for key in found if key.partition("/")[0] == namespace), default="")

    def _of(self, namespace: str) -> Sequence[_Account]:
        keys = self._keys.get(namespace)
        if keys is None:
            return ()
        known = self._accounts.get(namespace)
        if known is None:
            known = tuple(_Account(self._objects.quotas[key]) for key in sorted(keys))
            self._accounts[namespace] = known
            for pod in self._objects.pods.values():
                if pod.namespace == namespace and _stays(pod):
                    for account in known:
                        account.count(pod, 1)
            for owner in self._promises.owners_to_come(namespace):
                for promise in self._promises.expected(owner):
                    for account in known:
                        account.expect(promise.like, 1)
        return known


def _stays(pod: Pod) -> bool:
    return pod.deleting_since is None


def _add(to: dict[str, int], charge: Resources, times: int) -> None:
    for name, amount in charge.items():
        to[name] = to.get(name, 0) + times * amount
