"""Status conditions as metrics: which there are, how long they last, and how they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from treenail.domain.model.nodes import Condition, Status, condition_of
from treenail.domain.telemetry.condition_metrics import GROUPS, NODE, NODE_CLAIM, OF_ALL, OF_KIND
from treenail.domain.telemetry.metric import Metric
from treenail.domain.telemetry.series import Series, Since

# Conditions of claims that are True in the normal course; a True one of any other type says that the node
# goes.
_CLAIMS_WELL: Final = frozenset(
    {"Launched", "Registered", "Initialized", "Ready", "ConsistentStateFound", "Consolidatable"}
)


@dataclass(frozen=True, slots=True)
class Noted:
    """A value to be written to a counter (added) or to a histogram or summary (observed)."""

    metric: Metric
    value: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditioned:
    """An object of a kind with its conditions. `added` are the labels of its kind's metrics."""

    kind: str
    name: str
    conditions: tuple[Condition, ...]
    added: Mapping[str, str] = field(default_factory=dict)
    deleting_since: datetime | None = None

    def as_it_should(self, condition: Condition) -> bool:
        """Return whether a condition is as on most objects of the kind, of which there are many."""
        if self.kind == NODE:
            return condition.status is (Status.TRUE if condition.type == "Ready" else Status.FALSE)
        if self.kind == NODE_CLAIM:
            return condition.status is Status.TRUE and condition.type in _CLAIMS_WELL
        return False

    @property
    def for_all(self) -> Mapping[str, str] | None:
        """The labels of the metrics for all kinds; None where the kind is not among them."""
        group = GROUPS.get(self.kind)
        return None if group is None else {"group": group, "kind": self.kind}


def own_series(of: Conditioned) -> Iterator[Series]:
    """Yield the series about one object: its conditions that are not as most, and its end."""
    families = [(OF_KIND[of.kind], of.added)]
    if of.for_all is not None:
        families.append((OF_ALL, of.for_all))
    for metrics, added in families:
        for one in of.conditions:
            if of.as_it_should(one):
                continue
            labels = {"name": of.name, **_at(one), **added}
            yield Series(metrics.count, 1, labels)
            well = metrics is OF_ALL and one.status is Status.TRUE and of.kind != NODE_CLAIM
            if one.since is not None and not well:
                yield Series(metrics.current_seconds, Since(one.since), labels)
        if of.deleting_since is not None:
            labels = {"name": of.name, **added}
            yield Series(metrics.terminating_seconds, Since(of.deleting_since), labels)


def summed_series(objects: Iterable[Conditioned]) -> Iterator[Series]:
    """Yield how many objects have each condition as most have it, without their names."""
    counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for of in objects:
        added = tuple(of.added.items())
        for one in of.conditions:
            if of.as_it_should(one):
                counts[of.kind, (*_at(one).items(), *added)] += 1
    together: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for (kind, labels), number in sorted(counts.items()):
        yield Series(OF_KIND[kind].count, number, dict(labels))
        together[kind, labels[:3]] += number
    for (kind, labels), number in together.items():
        if kind in GROUPS:
            yield Series(OF_ALL.count, number, {**dict(labels), "group": GROUPS[kind], "kind": kind})


def changed(before: Conditioned, after: Conditioned) -> Iterator[Noted]:
    """Yield what changed between two states of an object."""
    for one in after.conditions:
        was = condition_of(before.conditions, one.type)
        if (was is not None and was.status is one.status) or _only_joined(after, one, was):
            continue
        yield from _each(after, "transitions", _at(one))
        if was is not None and was.since is not None and one.since is not None:
            seconds = max(0.0, (one.since - was.since).total_seconds())
            labels = {"type": was.type, "status": was.status.value}
            yield from _each(after, "transition_seconds", labels, seconds)


def _only_joined(of: Conditioned, now: Condition, was: Condition | None) -> bool:
    """Return whether a kubelet said for the first time that its node lacks nothing, as every one does."""
    first = was is None or was.status is Status.UNKNOWN
    return of.kind == NODE and now.type != "Ready" and first and of.as_it_should(now)


def ended(last: Conditioned, now: datetime) -> Iterator[Noted]:
    """Yield how long it took an object that is gone to go, if it was deleted."""
    if last.deleting_since is not None:
        seconds = max(0.0, (now - last.deleting_since).total_seconds())
        yield from _each(last, "termination_duration", {}, seconds)


def _each(of: Conditioned, which: str, labels: Mapping[str, str], value: float = 1.0) -> Iterator[Noted]:
    """Yield one value for the metric of the kind, and for that of all kinds."""
    metrics = OF_KIND[of.kind]
    added = {label: of.added.get(label, "") for label in metrics.added}
    yield Noted(getattr(metrics, which), value, {**labels, **added})
    if of.for_all is not None:
        yield Noted(getattr(OF_ALL, which), value, {**labels, **of.for_all})


def _at(condition: Condition) -> dict[str, str]:
    return {"type": condition.type, "status": condition.status.value, "reason": condition.reason}
