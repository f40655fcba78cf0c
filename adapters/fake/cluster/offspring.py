"""Pods by the workload that made them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.pods import Pod

# The letters and digits Kubernetes makes names of: no vowels, nothing that looks like another.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


class Offspring:
    """Pods by the uid of the owner that manages them."""

    def __init__(self, store: Store) -> None:
        self._by_owner: dict[str, dict[str, Pod]] = {}
        self._active: dict[str, int] = {}
        self._listeners: dict[str, list[Callable[[str, Pod], None]]] = {}
        store.listen(self._changed, "Pod")

    def of(self, uid: str) -> tuple[Pod, ...]:
        """Return the pods that the owner `uid` manages, in the order they were made."""
        return tuple(self._by_owner.get(uid, {}).values())

    def active(self, uid: str) -> int:
        """Return how many pods of the owner `uid` are neither being deleted nor at an end."""
        return self._active.get(uid, 0)

    def listen(self, kind: str, hear: Callable[[str, Pod], None]) -> None:
        """Call `hear` with owner uid and pod where an owner of `kind` has one pod more or less that counts.

        A pod counts until it is being deleted or has come to an end; it is also told when it is gone.
        """
        self._listeners.setdefault(kind, []).append(hear)

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        pod = after if isinstance(after, Pod) else before
        owner = pod.owner if isinstance(pod, Pod) else None
        if not isinstance(pod, Pod) or owner is None:
            return
        gained = (isinstance(after, Pod) and after.active) - (isinstance(before, Pod) and before.active)
        if gained:
            self._active[owner.uid] = self._active.get(owner.uid, 0) + gained
        if after is None:
            self._lose(owner.uid, pod.uid)
        else:
            self._by_owner.setdefault(owner.uid, {})[pod.uid] = pod
        if gained or after is None:
            for hear in self._listeners.get(owner.kind, ()):
                hear(owner.uid, pod)

    def _lose(self, owner: str, pod: str) -> None:
        siblings = self._by_owner.get(owner, {})
        siblings.pop(pod, None)
        if not siblings:
            self._by_owner.pop(owner, None)
            self._active.pop(owner, None)


def suffix(dice: random.Random, letters: int) -> str:
    """Return the random end of a name."""
    return "".join(dice.choice(_ALPHABET) for _ in range(letters))
