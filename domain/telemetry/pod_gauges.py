"""Gauges of pods: how many there are of each kind, and which have waited longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.telemetry import metrics, state_metrics
from treenail.domain.telemetry.condition_gauges import Noted
from treenail.domain.telemetry.series import Gauges, Series, Since

# Pods that have waited longest have series of their own; a burst of thousands is not to make as many.
_MOST: Final = 100

# Namespace, phase, and whether it is ready.
_Kind: TypeAlias = tuple[str, str, bool]


class PodCensus:
    """Numbers of pods of each kind by node, terminal ones included; "" are those without. Mutable."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[str, _Kind]] = {}
        self._counts: dict[str, Counter[_Kind]] = {}

    def note(self, uid: str, pod: Pod | None) -> tuple[str, ...]:
        """Take in the present state of a pod, None where it is gone; return the nodes it changes."""
        known = self._counted.get(uid)
        now = None if pod is None else (pod.node_name, (pod.namespace, pod.phase.value, pod.ready))
        if now == known:
            return ()
        if known is not None:
            del self._counted[uid]
            there = self._counts[known[0]]
            there[known[1]] -= 1
            if not there[known[1]]:
                del there[known[1]]
            if not there:
                del self._counts[known[0]]
        if now is not None:
            self._counted[uid] = now
            self._counts.setdefault(now[0], Counter())[now[1]] += 1
        return tuple(dict.fromkeys(at[0] for at in (known, now) if at is not None))

    def on(self, node: str) -> tuple[tuple[_Kind, int], ...]:
        """Return how many pods of each kind a node has."""
        return tuple(self._counts.get(node, {}).items())


def pods_series(name: str, node: Node | None, counts: tuple[tuple[_Kind, int], ...]) -> Iterator[Series]:
    """Yield how many pods of each kind there are on the node of a name."""
    of_node: Mapping[str, str] = node.labels if node is not None else {}
    pool = of_node.get(labels.NODEPOOL, "") or of_node.get(labels.PROVISIONER, "")
    where = {
        "node": name,
        "scheduled": "true" if name else "false",
        "nodepool": pool,
        "zone": of_node.get(labels.ZONE, ""),
        "arch": of_node.get(labels.ARCH, ""),
        "capacity_type": of_node.get(labels.CAPACITY_TYPE, ""),
        "instance_type": of_node.get(labels.INSTANCE_TYPE, ""),
        "managed": "true" if pool else "false",
    }
    for (namespace, phase, ready), number in counts:
        state = {"namespace": namespace, "phase": phase, "ready": "true" if ready else "false"}
        yield Series(state_metrics.PODS_STATE, number, {**state, **where})


@dataclass(frozen=True, slots=True)
class _Waits:
    """A pod on its way: since when it has been known to wait for a place, and to have one."""

    pod: Pod
    seen_at: datetime | None = None
    placed_at: datetime | None = None


class PodProgress:
    """The pods that are not ready yet, and how far each has come. Mutable."""

    def __init__(self) -> None:
        # In the order they were first seen.
        self._unready: dict[str, _Waits] = {}
        self._unbound: dict[str, None] = {}
        self._undecided: dict[str, None] = {}

    def note(self, uid: str, pod: Pod | None, now: datetime) -> Iterator[Noted]:
        """Take in the present state of a pod, None where it is gone; yield the durations that ended."""
        waits = self._unready.get(uid)
        if waits is None:
            if pod is None or pod.phase is not Phase.PENDING or pod.ready:
                return
            waits = self._unready[uid] = _Waits(pod)
            if not pod.node_name:
                self._unbound[uid] = None
        if pod is None or pod.terminal or pod.ready:
            if pod is not None and pod.ready:
                yield Noted(metrics.PODS_STARTUP_DURATION, _seconds(pod.created_at, now))
                if waits.placed_at is not None:
                    yield Noted(metrics.PODS_PLACED_STARTUP_DURATION, _seconds(waits.placed_at, now))
            del self._unready[uid]
        elif pod.provisionable and waits.seen_at is None:
            self._unready[uid] = replace(waits, pod=pod, seen_at=now)
            self._undecided[uid] = None
        if uid in self._unbound and (pod is None or pod.node_name or uid not in self._unready):
            del self._unbound[uid]
            self._undecided.pop(uid, None)
            if pod is not None and pod.node_name and waits.placed_at is not None:
                yield Noted(metrics.PODS_PLACED_BOUND_DURATION, _seconds(waits.placed_at, now))

    def decide(self, uid: str, now: datetime, *, placed: bool) -> Iterator[Noted]:
        """Take in that a pod got a place, or was refused one; yield how long the first decision took."""
        waits = self._unready.get(uid)
        if waits is None or waits.seen_at is None:
            return
        if uid in self._undecided:
            del self._undecided[uid]
            yield Noted(metrics.PODS_DECISION_DURATION, _seconds(waits.seen_at, now))
        placed_at = (waits.placed_at or now) if placed else None
        if placed_at != waits.placed_at:
            self._unready[uid] = replace(waits, placed_at=placed_at)

    def gauges(self) -> Gauges:
        """Return what computes the series of the pods that have waited longest."""
        unready = tuple(islice(self._unready.values(), _MOST))
        known = self._unready.__getitem__
        unbound = tuple(map(known, islice(self._unbound, _MOST)))
        undecided = tuple(map(known, islice(self._undecided, _MOST)))
        return lambda: _waiting(unready, unbound, undecided)


def _waiting(
    unready: tuple[_Waits, ...], unbound: tuple[_Waits, ...], undecided: tuple[_Waits, ...]
) -> Iterator[Series]:
    for waits, all_of_them, those_placed in (
        (unready, state_metrics.PODS_UNSTARTED, state_metrics.PODS_PLACED_UNSTARTED),
        (unbound, state_metrics.PODS_UNBOUND, state_metrics.PODS_PLACED_UNBOUND),
    ):
        for one in waits:
            name = {"name": one.pod.name, "namespace": one.pod.namespace}
            yield Series(all_of_them, Since(one.pod.created_at), name)
            if one.placed_at is not None:
                yield Series(those_placed, Since(one.placed_at), name)
    for one in undecided:
        if one.seen_at is not None:
            name = {"name": one.pod.name, "namespace": one.pod.namespace}
            yield Series(state_metrics.PODS_UNDECIDED, Since(one.seen_at), name)


def _seconds(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
