"""Pods that a decision had no place for: when each is decided on again, and which changes could help it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from treenail.domain.model.backoff import Backoff
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import Resources
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import TOPOLOGY, Reason

# Where nothing is heard that could help: so long, and twice as long each time, and some more by chance.
_RETRY: Final = Backoff(first=30.0, longest=1800.0)
# A node class that could not be launched from may be mended in AWS, which sends no change.
_RETRY_OF_POOLS: Final = Backoff(first=10.0, longest=300.0)
_CHANCE: Final = 0.2
# After changes that could have helped and did not: the first is heeded at once.
_RETRY_AFTER_HELP: Final = Backoff(first=5.0, longest=60.0)
_QUIET: Final = 300.0
# So often a pod may lose its room on a node that was bought for it, and have another one bought at once.
_CROWDED_OUT_AT_ONCE: Final = 2
# Who has waited for half of its pause is tried with others: so all come to be tried together.
_ENOUGH: Final = 0.5


class Help(Enum):
    """A kind of change after which a decision could find places for refused pods.

    Free room on a node is no such change: the scheduler binds pods that it has room for, without a decision.
    """

    POOLS = auto()
    CATALOGUE = auto()
    LIMITS = auto()
    OFFERINGS = auto()
    STORAGE = auto()
    DEVICES = auto()
    COMPANY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreToBuy:
    """More offerings are for sale than before: those that had run out (`again`), or new ones."""

    again: bool


_HELPED: Final[Mapping[Reason, frozenset[Help]]] = {
    Reason.RESOURCE_CLAIM: frozenset({Help.DEVICES}),
    Reason.DEVICE_TOPOLOGY: frozenset({Help.DEVICES, Help.OFFERINGS}),
    Reason.VOLUME_CLAIM: frozenset({Help.STORAGE}),
    Reason.VOLUME_TOPOLOGY: frozenset({Help.STORAGE, Help.OFFERINGS}),
    Reason.VOLUME_LIMIT: frozenset({Help.STORAGE}),
    Reason.MIN_VALUES: frozenset({Help.OFFERINGS}),
    Reason.NOT_SOLD: frozenset({Help.OFFERINGS}),
    Reason.NO_CAPACITY: frozenset({Help.OFFERINGS}),
    Reason.LIMIT_REACHED: frozenset({Help.LIMITS, Help.OFFERINGS}),
    **dict.fromkeys(TOPOLOGY, frozenset({Help.COMPANY, Help.OFFERINGS, Help.LIMITS})),
}


def helped_by(pod: Pod, group: RefusedClass) -> frozenset[Help]:
    """Return which changes could have a decision find a place for a refused pod."""
    kinds = {Help.POOLS, Help.CATALOGUE}
    for refusal in group.refusals:
        kinds |= _HELPED.get(refusal.reason, frozenset())
    if pod.spec.spread or pod.spec.pod_affinity:
        kinds.add(Help.COMPANY)
    if pod.spec.volumes:
        kinds.add(Help.STORAGE)
    if pod.spec.resource_claims:
        kinds.add(Help.DEVICES)
    return frozenset(kinds)


@dataclass(slots=True)
class _Refused:
    pod: Pod
    helps: frozenset[Help]
    at: float
    retry_at: float
    tries: int = 0
    helped: int = 0
    crowded_out: int = 0
    change_helps: bool = False
    out: bool = False

    @property
    def due_at(self) -> float:
        if not self.change_helps:
            return self.retry_at
        pause = _RETRY_AFTER_HELP.after(self.helped) if self.helped else 0.0
        return min(self.retry_at, self.at + pause)

    def due_with_others(self, now: float) -> bool:
        return now >= self.at + (self.due_at - self.at) * _ENOUGH


@dataclass(slots=True)
class RefusedPods:
    """The pods that a decision refused. Each is held back from decisions until it is to be retried.

    That is after 30 s, 1 min, 2... 30 min, or when something changed that could help: at once the first time,
    then no sooner than 5 s, 10... 60 s after it was refused, until no such change came for five minutes. A
    pod that has waited for half of that is retried together with others, and so are all pods with terms about
    other pods. Mutable. All times are monotonic seconds.
    """

    _by_uid: dict[str, _Refused] = field(default_factory=dict)

    def __len__(self) -> int:
        # How many are held back.
        return sum(not one.out for one in self._by_uid.values())

    def __bool__(self) -> bool:
        return bool(self._by_uid)

    def refuse(self, pod: Pod, group: RefusedClass, now: float, chance: float) -> None:
        """Take in that a decision refused a pod. `chance` is from 0 to 1, one for a whole decision."""
        known = self._by_uid.get(pod.uid)
        tries, helped = 0, 0
        if known is not None:
            tries = known.tries + 1
            recent = now - known.at < _QUIET
            helped = known.helped + known.change_helps if recent else int(known.change_helps)
        pools_ready = all(one.reason is not Reason.POOL_NOT_READY for one in group.refusals)
        retry = _RETRY if pools_ready else _RETRY_OF_POOLS
        pause = retry.after(tries + 1) * (1 + chance * _CHANCE)
        self._by_uid[pod.uid] = _Refused(
            pod,
            helped_by(pod, group),
            now,
            now + pause,
            tries=tries,
            helped=min(helped, 10),
            crowded_out=known.crowded_out if known is not None else 0,
        )

    def crowd_out(self, pod: Pod, now: float) -> None:
        """Take in that others took the room of a pod on a node that was bought for it.

        Where that goes on, nodes come with less room than is known: others would be bought without end.
        """
        known = self._by_uid.get(pod.uid)
        number = 1 + (known.crowded_out if known is not None else 0)
        over = number - _CROWDED_OUT_AT_ONCE
        # Without chance: those that were crowded out together are tried together.
        pause = _RETRY.after(over + 1) if over > 0 else 0.0
        self._by_uid[pod.uid] = _Refused(
            pod, frozenset({Help.POOLS}), now, now + pause, crowded_out=number, out=over <= 0
        )

    def place(self, uid: str) -> None:
        """Take in that a pod has a place. If it loses that, it is decided on at once."""
        known = self._by_uid.get(uid)
        if known is not None:
            known.out = True

    def forget(self, uid: str) -> bool:
        """Forget a pod that has a node, or is gone; return whether it was known."""
        return self._by_uid.pop(uid, None) is not None

    def changed(self, pod: Pod) -> bool:
        """Take in a pod as it stands; return whether it is known. Where it asks for more, it begins anew."""
        known = self._by_uid.get(pod.uid)
        if known is None:
            return False
        if _asked_of(known.pod) != _asked_of(pod):
            known.tries, known.helped, known.crowded_out, known.change_helps = 0, 0, 0, True
        known.pod = pod
        return True

    def retry_refused(self, kinds: Collection[Help]) -> None:
        """Retry soon the pods that one of these changes could help; other pools reset their backoff."""
        for one in self._by_uid.values():
            if not one.helps.isdisjoint(kinds):
                one.change_helps = True
                if Help.POOLS in kinds:
                    one.tries = 0

    def held(self, uid: str, now: float) -> bool:
        """Return whether a decision that is made now is to leave a pod out."""
        known = self._by_uid.get(uid)
        return known is not None and not known.out and not known.due_with_others(now)

    def take_due(self, now: float) -> tuple[str, ...]:
        """Return the uids of those to be tried now, which are held back no more, in the order of refusals."""
        waiting = {uid: one for uid, one in self._by_uid.items() if not one.out}
        due = [one for one in waiting.values() if one.due_at <= now]
        if not due:
            return ()
        together = any(Help.COMPANY in one.helps for one in due)
        taken = tuple(
            uid
            for uid, one in waiting.items()
            if one.due_with_others(now) or (together and Help.COMPANY in one.helps)
        )
        for uid in taken:
            self._by_uid[uid].out = True
        return taken

    def next_due(self) -> float | None:
        """Return when the next of them is to be tried, None where none is held back."""
        return min((one.due_at for one in self._by_uid.values() if not one.out), default=None)


def _asked_of(pod: Pod) -> object:
    return pod.spec, pod.labels, pod.claims_made


class LimitsWatch:
    """A watch on limits: whether pools may buy more than when pods were refused. Mutable."""

    def __init__(self) -> None:
        self._least: dict[str, Resources] = {}

    def refused(self, left: Mapping[str, Resources]) -> None:
        """Take in what limits leave, by pool, after a decision that refused pods."""
        self._least = {
            pool: _least(self._least.get(pool, amounts), amounts) for pool, amounts in left.items()
        }

    def grew(self, left: Mapping[str, Resources]) -> bool:
        """Return whether limits leave more of something than they did, and compare with that from now on."""
        before, self._least = self._least, dict(left)
        return any(
            amount > before[pool].get(name, amount)
            for pool, amounts in left.items()
            if pool in before
            for name, amount in amounts.items()
        )


def _least(one: Resources, other: Resources) -> Resources:
    return Resources({name: min(amount, one.get(name, amount)) for name, amount in other.items()})
