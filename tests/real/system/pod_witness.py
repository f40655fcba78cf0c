"""What becomes of pods while nodes go, and which of them were wronged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from tests.real.parts.objects import says

_SECOND: Final = timedelta(seconds=1)
_EVICTED: Final = "EvictionByEvictionAPI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A machine: the name of its node, when it was launched, and when it was asked to end, if it was."""

    node: str
    since: datetime
    ended: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A pod that ran on a node, from when its kubelet knew it, and when it was heard that it is gone."""

    name: str
    node: str
    since: datetime
    at: datetime

    def outlived(self, lives: Sequence[Life]) -> bool:
        """Return whether it was there when its machine was asked to end: the last one of that name.

        `lives` are those of all machines, oldest first. Times told in whole seconds are given one more.
        """
        *_, its_own = [
            life for life in lives if life.node == self.node and life.since <= self.since + _SECOND
        ]
        return its_own.ended is not None and self.at > its_own.ended + _SECOND


class PodWitness:
    """Hears of every change of pods, from their beginning and in order.

    Pods are told apart by their label `app`; `least` is how many of each there must be that are ready and
    not about to end, from when there were as many first. A pod that ran may go by an eviction alone.
    """

    def __init__(self, least: Mapping[str, int]) -> None:
        self.lowest: dict[str, int] = {}
        self.ended: list[Ended] = []
        self.wrongs: list[str] = []
        self._least = least
        self._available: dict[str, dict[str, None]] = {app: {} for app in least}
        self._there: dict[str, dict[str, Any]] = {}

    def available(self) -> int:
        """Return how many pods are ready and not about to end, as far as it was heard."""
        return sum(len(of_app) for of_app in tuple(self._available.values()))

    def check(self) -> None:
        """Raise AssertionError with what was wrong first, if anything was."""
        assert not self.wrongs, f"{len(self.wrongs)} wrongs, first {self.wrongs[:5]}"

    def hear(self, pod: dict[str, Any], now: datetime, *, gone: bool) -> None:
        """Take in a pod as it is now, or as it was when it went."""
        uid, app = pod["metadata"]["uid"], pod["metadata"]["labels"].get("app", "")
        before = self._there.pop(uid, None)
        available = self._available.setdefault(app, {})
        if not gone:
            self._there[uid] = pod
        elif before is not None and before["status"]["phase"] != "Pending":
            self._end(before, now)
        if not gone and _available(pod):
            available[uid] = None
        else:
            available.pop(uid, None)
        self._count(app, len(available))

    def _end(self, pod: dict[str, Any], now: datetime) -> None:
        """Note the end of a pod, as it was known last."""
        name = pod["metadata"]["name"]
        since = datetime.fromisoformat(pod["status"]["startTime"])
        self.ended.append(Ended(name=name, node=pod["spec"]["nodeName"], since=since, at=now))
        if "deletionTimestamp" not in pod["metadata"]:
            self.wrongs.append(f"{name} was gone at once")
        why = [c.get("reason") for c in pod["status"]["conditions"] if c["type"] == "DisruptionTarget"]
        if why != [_EVICTED]:
            self.wrongs.append(f"{name} ended by {why}, in phase {pod['status']['phase']}")

    def _count(self, app: str, available: int) -> None:
        least = self._least.get(app, 0)
        if app in self.lowest:
            self.lowest[app] = min(self.lowest[app], available)
            if available < least:
                self.wrongs.append(f"{app} has {available} available pods and needs {least}")
        elif available >= least:
            self.lowest[app] = available


def _available(pod: dict[str, Any]) -> bool:
    return says(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]
